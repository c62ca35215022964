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

/// The report of `rank`, which waits for the other members of `group`.
std::string lateInCollective(const Control &control, const Program &program,
                             int rank, const Communicator &group,
                             int64_t timeoutNs);

/// The report of `rank`, which waits for `peer`; `what` says for what.
std::string lateInTransfer(const Control &control, const Program &program,
                           int rank, int peer, int64_t timeoutNs,
                           const std::string &what);

} // namespace p3d
