// Reads the published state of all ranks and finds the one that does not wait
// for anybody.
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <cstdio>

namespace p3d {

static Activity activityOf(const Control &control, int rank) {
  return Activity(control.rank(rank).activity.load(std::memory_order_acquire));
}

static const char *activityText(Activity activity) {
  switch (activity) {
  case Activity::Starting:
    return "starting";
  case Activity::Running:
    return "computing";
  case Activity::InCollective:
    return "waiting in a collective";
  case Activity::Receiving:
    return "waiting to receive";
  case Activity::AwaitingReceiver:
    return "waiting for a receiver";
  case Activity::AwaitingLauncher:
    return "waiting for p3d-run to read its steps";
  case Activity::Finished:
    return "finished";
  }
  return "in an unknown state";
}

static bool isStopped(int pid) {
  FILE *file = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "r");
  if (!file)
    return false;
  char state = 0;
  // The name in parentheses is ours and has no parenthesis in it.
  int fields = std::fscanf(file, "%*d (%*[^)]) %c", &state);
  std::fclose(file);
  return fields == 1 && (state == 'T' || state == 't');
}

std::string describePlace(const Control &control, int rank) {
  RankArea &area = control.rank(rank);
  std::string text =
      fmt::format("at step {}", area.step.load(std::memory_order_relaxed));
  if (area.task[0])
    text += fmt::format(" in task {}, microbatch {}", area.task,
                        area.mb.load(std::memory_order_relaxed));
  if (area.operation[0])
    text += fmt::format(", operation \"{}\"", area.operation);
  return text;
}

/// Seconds for which the host of a rank of another launcher has said nothing of it.
static double silence(const Control &control, int rank) {
  int64_t heardNs = control.rank(rank).heardNs.load(std::memory_order_relaxed);
  return heardNs ? double(monotonicNs() - heardNs) / 1e9 : 0;
}

/// Several signs of life that have not come.
static bool isSilent(const Control &control, int rank) {
  return silence(control, rank) > 2;
}

std::string describeRank(const Control &control, int rank) {
  const RankArea &area = control.rank(rank);
  std::string name = fmt::format("rank {}", rank);
  if (area.endpoint.port != 0)
    name += fmt::format(" on {}", area.host);
  bool isElsewhere = area.endpoint.port != 0 && area.endpoint.listeningFd < 0;
  if (isElsewhere && area.heardNs.load(std::memory_order_relaxed) == 0)
    return name + ", whose place is known on the host of rank 0 only";
  std::string text =
      fmt::format("{} is {}", name, describePlace(control, rank));
  if (isSilent(control, rank))
    return text + fmt::format(", as was heard {:.0f} s ago, and nothing since",
                              silence(control, rank));
  if (isStopped(control.rank(rank).pid.load(std::memory_order_relaxed)))
    return text + ", and its process is stopped by a signal";
  return text + ", " + activityText(activityOf(control, rank));
}

static bool isIn(const Control &control, int rank, const Call &call) {
  const Call &other = control.rank(rank).call;
  return activityOf(control, rank) == Activity::InCollective &&
         !isSilent(control, rank) &&
         other.communicator == call.communicator &&
         other.sequence == call.sequence;
}

static std::vector<int> membersOf(const Program &program, int rank,
                                  const Call &call) {
  Coordinates at = program.mesh.coordinates(rank);
  if (call.axis != P3D_TIED)
    return groupMembers(program, at, p3d_axis(call.axis), 0);
  std::vector<int> ranks;
  for (int stage = 0; stage < program.stages; ++stage)
    if (call.stages[stage / 64] >> (stage % 64) & 1)
      ranks.push_back(program.mesh.rankOf({at.tp, stage, at.dp}));
  return ranks;
}

/// The rank that `rank` waits for, or -1 if it waits for none.
static int next(const Control &control, const Program &program, int rank) {
  Activity activity = activityOf(control, rank);
  if (isStopped(control.rank(rank).pid) || isSilent(control, rank))
    return -1;
  if (activity == Activity::Receiving || activity == Activity::AwaitingReceiver)
    return control.rank(rank).waitsFor.load(std::memory_order_relaxed);
  if (activity != Activity::InCollective)
    return -1;
  const Call &call = control.rank(rank).call;
  for (int member : membersOf(program, rank, call))
    if (member != rank && !isIn(control, member, call))
      return member;
  return -1;
}

static std::string followChain(const Control &control, const Program &program,
                               int late) {
  std::vector<int> seen;
  while (std::find(seen.begin(), seen.end(), late) == seen.end()) {
    seen.push_back(late);
    int further = next(control, program, late);
    if (further < 0)
      return fmt::format("rank {} holds up the others: {}", late,
                         describeRank(control, late));
    late = further;
  }
  std::string text = "ranks wait for each other in a circle";
  for (int rank : seen)
    text += "; " + describeRank(control, rank);
  return text;
}

static std::string head(const Control &control, int rank, int64_t timeoutNs) {
  RankArea &area = control.rank(rank);
  return fmt::format("rank {} waited {} s at step {} in operation \"{}\"", rank,
                     double(timeoutNs) / 1e9,
                     area.step.load(std::memory_order_relaxed), area.operation);
}

static std::string describeCollective(const Control &control,
                                      const Program &program, int rank,
                                      const LateWait &late) {
  const Call &call = control.rank(rank).call;
  std::vector<int> members = membersOf(program, rank, call);
  std::vector<int> arrived, missing;
  for (int member : members)
    (isIn(control, member, call) ? arrived : missing).push_back(member);
  std::string text = fmt::format(
      "{}, communicator {} of ranks {}: arrived {}; late {}",
      head(control, rank, late.timeoutNs), axisName(p3d_axis(call.axis)),
      listRanks(members), listRanks(arrived), listRanks(missing));
  if (missing.empty())
    return text;
  return text + "; " + followChain(control, program, missing.front());
}

LateWait lateCollective(int64_t timeoutNs) {
  return {LateKind::Collective, -1, timeoutNs, {}};
}

LateWait lateTransfer(int peer, int64_t timeoutNs,
                      const std::string &transfer) {
  LateWait late{LateKind::Transfer, peer, timeoutNs, {}};
  setText(late.transfer, transfer);
  return late;
}

std::string describeLate(const Control &control, const Program &program,
                         int rank, const LateWait &late) {
  if (late.kind == LateKind::Collective)
    return describeCollective(control, program, rank, late);
  return fmt::format("{}, {} rank {} (communicator pp): arrived {}; late {}; "
                     "{}",
                     head(control, rank, late.timeoutNs), late.transfer,
                     late.peer, rank, late.peer,
                     followChain(control, program, late.peer));
}

void failLate(const Control &control, const Program &program, int rank,
              const LateWait &late, const std::string &more) {
  std::string text = describeLate(control, program, rank, late) + more;
  control.reportFailure(rank, ExitCode::RankFailure, text, late);
  throw Error(ExitCode::RankFailure, text);
}

} // namespace p3d
