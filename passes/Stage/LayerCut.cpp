// How many layers each stage gets. The dynamic program is over (stages used, layers placed).
#include "passes/Stage/LayerCut.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <utility>
#include <vector>

using namespace llvm;
using namespace p3d;

namespace {
/// Of a cut of the first layers: the cost of its dearest range, then the sum of squares of all, which is least for even
/// ranges.
using Score = std::pair<double, double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string tooFewLayers(int64_t layers, int64_t stages, int64_t chunks) {
  if (chunks > 1)
    return formatv("{0} layers cannot fill {1} chunks on each of pp = {2} stages, {3} parts of at least one layer; use fewer "
                   "chunks or a smaller pp",
                   layers, chunks, stages, chunks * stages);
  return formatv(
      "{0} layers cannot fill pp = {1} stages, each of which needs at least one layer; use a mesh with pp of at "
      "most {0}",
      layers, stages);
}

/// Stages of equal numbers of layers keep equal activations; an uneven cut has to be this much faster to be worth it.
constexpr double kUnevenGain = 1.02;

/// The even cut, if there is one and its dearest stage costs at most kUnevenGain times `optimum`.
std::optional<SmallVector<int64_t>> evenCut(ArrayRef<double> upTo, int64_t stages, double optimum) {
  int64_t layers = upTo.size() - 1, count = layers / stages;
  if (layers % stages)
    return std::nullopt;
  for (int64_t s = 0; s < stages; ++s)
    if (upTo[(s + 1) * count] - upTo[s * count] > kUnevenGain * optimum)
      return std::nullopt;
  return SmallVector<int64_t>(stages, count);
}
} // namespace

LayerCut p3d::cutLayers(ArrayRef<int64_t> costs, int64_t stages, int64_t chunks) {
  const int64_t layers = costs.size(), parts = stages * chunks;
  if (layers < parts)
    return tooFewLayers(layers, stages, chunks);
  std::vector<double> upTo(layers + 1, 0);
  for (auto [i, cost] : enumerate(costs))
    upTo[i + 1] = upTo[i] + cost;

  // best[s][n]: the best cut of the first n layers into s ranges, and where its last range begins.
  std::vector<std::vector<Score>> best(parts + 1, std::vector<Score>(layers + 1, {kInfinity, kInfinity}));
  std::vector<std::vector<int64_t>> begin(parts + 1, std::vector<int64_t>(layers + 1, 0));
  best[0][0] = {0, 0};
  for (int64_t s = 1; s <= parts; ++s)
    for (int64_t n = s; n <= layers; ++n)
      for (int64_t from = s - 1; from < n; ++from) {
        double cost = upTo[n] - upTo[from];
        Score score{std::max(best[s - 1][from].first, cost), best[s - 1][from].second + cost * cost};
        if (score < best[s][n]) {
          best[s][n] = score;
          begin[s][n] = from;
        }
      }

  if (std::optional<SmallVector<int64_t>> even = evenCut(upTo, parts, best[parts][layers].first))
    return *even;
  SmallVector<int64_t> counts(parts);
  for (int64_t s = parts, n = layers; s > 0; --s) {
    counts[s - 1] = n - begin[s][n];
    n = begin[s][n];
  }
  return counts;
}

LayerCut p3d::parseLayerCounts(StringRef text, int64_t layers, int64_t stages, int64_t chunks) {
  SmallVector<int64_t> counts;
  int64_t sum = 0;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    int64_t count;
    if (part.trim().getAsInteger(10, count) || count < 1)
      return formatv("stages '{0}': '{1}' is no count of layers; expected 'auto' or one positive number per stage",
                     text, part)
          .str();
    counts.push_back(count);
    sum += count;
  }
  if (int64_t(counts.size()) != stages * chunks && chunks > 1)
    return formatv("stages '{0}' names {1} parts, but pp = {2} stages of {3} chunks have {4}", text, counts.size(), stages, chunks,
                   stages * chunks)
        .str();
  if (int64_t(counts.size()) != stages * chunks)
    return formatv("stages '{0}' names {1} stages, but the mesh has pp = {2}", text, counts.size(), stages).str();
  if (sum != layers)
    return formatv("stages '{0}' places {1} layers, but the model has {2}", text, sum, layers).str();
  return counts;
}
