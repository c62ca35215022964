#include "runtime/tools/p3d-run/StartGate.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Program/Mesh.h"
#include <cstdlib>
#include <map>

namespace p3d {

void StartGate::checkDevices() const {
  if (std::getenv("P3D_SHARE_DEVICES"))
    return;
  std::map<std::pair<std::string, std::string>, int> owners;
  for (int rank = 0; rank < control.worldSize(); ++rank) {
    const RankArea &area = control.rank(rank);
    auto [owner, isFirst] = owners.emplace(std::pair(area.host, area.device), rank);
    if (!isFirst)
      throw Error(ExitCode::RankFailure,
                  fmt::format("ranks {} and {} have both taken device {} of {}, and NCCL takes one rank for a device; "
                              "start as many ranks there as it has devices, with LOCAL_RANK from 0 or one device in "
                              "CUDA_VISIBLE_DEVICES of each",
                              owner->second, rank, area.device, area.host));
  }
}

bool StartGate::check() {
  std::atomic<uint32_t> &mayStart = control.header().mayStart;
  if (mayStart.load(std::memory_order_relaxed))
    return true;
  std::vector<int> here, missing;
  for (int rank = 0; rank < control.worldSize(); ++rank)
    (control.rank(rank).isReady.load(std::memory_order_acquire) ? here : missing).push_back(rank);
  if (here.size() > ready)
    ready = here.size(), lastNs = monotonicNs();
  if (missing.empty()) {
    checkDevices();
    signal(mayStart);
    return true;
  }
  if (!here.empty() && double(monotonicNs() - lastNs) / 1e9 > timeoutSeconds)
    throw Error(ExitCode::RankFailure,
                fmt::format("ranks {} have been ready to start for {} s, ranks {} are not; {}", listRanks(here),
                            timeoutSeconds, listRanks(missing), describeRank(control, missing.front())));
  return false;
}

} // namespace p3d
