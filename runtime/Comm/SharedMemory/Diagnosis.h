// Who is late and why: the reports of waits that went beyond the deadline. They
// follow the chain of who waits for whom to the rank that holds everybody up.
#pragma once
#include "runtime/Comm/SharedMemory/Communicator.h"

namespace p3d {

/// "at step 2 in task forward, microbatch 1, operation \"..\"".
std::string describePlace(const Control &control, int rank);

/// "rank 3 is at step 2 in task forward, microbatch 1, operation \"..\",
/// computing".
std::string describeRank(const Control &control, int rank);

/// A wait in the collective whose call the rank has published.
LateWait lateCollective(int64_t timeoutNs);
/// A wait for `peer`; `transfer` says for what.
LateWait lateTransfer(int peer, int64_t timeoutNs, const std::string &transfer);

/// The report of `rank`, whose program is `program`, on its wait.
std::string describeLate(const Control &control, const Program &program,
                         int rank, const LateWait &late);

/// Ends `rank` with that report and `more`. What it waits for goes with it: of
/// ranks of other hosts the launcher of rank 0 knows more.
[[noreturn]] void failLate(const Control &control, const Program &program,
                           int rank, const LateWait &late,
                           const std::string &more = "");

} // namespace p3d
