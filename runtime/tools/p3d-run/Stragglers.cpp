#include "runtime/tools/p3d-run/Stragglers.h"
#include <algorithm>
#include <fmt/format.h>

namespace p3d {

std::vector<std::string> Stragglers::report() const {
  constexpr int64_t kSteps = 10; // fewer tell more of the start than of a rank
  std::vector<std::string> lines;
  if (steps < kSteps)
    return lines;
  std::map<int, std::vector<int>> stages;
  for (int rank = 0; rank < build.worldSize(); ++rank)
    stages[build.programs[rank]->stage].push_back(rank);
  for (const auto &[stage, ranks] : stages)
    if (std::string line = reportStage(ranks); !line.empty())
      lines.push_back(line);
  return lines;
}

std::string Stragglers::reportStage(const std::vector<int> &ranks) const {
  constexpr double kSlow = 1.5;
  constexpr int64_t kShortestNs = 1'000'000; // of a step; below it noise decides
  std::vector<int> order = ranks;
  std::sort(order.begin(), order.end(), [&](int a, int b) { return busyNs[a] < busyNs[b]; });
  int slowest = order.back(), middle = order[(order.size() - 1) / 2];
  int64_t lostNs = (busyNs[slowest] - busyNs[middle]) / steps;
  if (double(busyNs[slowest]) < kSlow * double(busyNs[middle]) || lostNs < kShortestNs)
    return "";
  Coordinates at = build.any().mesh.coordinates(slowest);
  return fmt::format("rank {} (tp {}, pp {}, dp {}) was busy {:.1f} times as long as the middle one of its stage, {:.1f} ms more in each step, for which others "
                     "wait; look at what else runs on its host or device",
                     slowest, at.tp, at.pp, at.dp, double(busyNs[slowest]) / double(std::max<int64_t>(busyNs[middle], 1)), double(lostNs) / 1e6);
}

} // namespace p3d
