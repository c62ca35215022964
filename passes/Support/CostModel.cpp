// Predicted times of collectives and operations.
#include "passes/Support/CostModel.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace p3d;

/// `hops` messages one after the other, in which a rank sends `bytes`.
static double hopSeconds(double hops, double bytes, const Link &link) {
  return hops * link.latencySeconds + bytes / link.bytesPerSecond;
}

/// A rank's part of a ring or of an exchange in turn.
static double turnSeconds(double bytes, int64_t ranks, const Link &link) {
  return hopSeconds(ranks - 1, bytes * (ranks - 1) / ranks, link);
}

double p3d::allReduceSeconds(double bytes, int64_t ranks, const Link &link) {
  double depth = llvm::Log2_64_Ceil(ranks);
  return std::min(2 * turnSeconds(bytes, ranks, link), 2 * hopSeconds(depth, depth * bytes, link));
}

double p3d::allGatherSeconds(double bytes, int64_t ranks, const Link &link) { return turnSeconds(bytes, ranks, link); }

double p3d::reduceScatterSeconds(double bytes, int64_t ranks, const Link &link) {
  return turnSeconds(bytes, ranks, link);
}

double p3d::allToAllSeconds(double bytes, int64_t ranks, const Link &link) { return turnSeconds(bytes, ranks, link); }

double p3d::transferSeconds(double bytes, const Link &link) { return hopSeconds(1, bytes, link); }

double p3d::messageSeconds(llvm::StringRef kind, double bytes, int64_t ranks, const Link &link) {
  constexpr std::pair<llvm::StringLiteral, double (*)(double, int64_t, const Link &)> kKinds[] = {
      {"all_reduce", allReduceSeconds},
      {"all_gather", allGatherSeconds},
      {"reduce_scatter", reduceScatterSeconds},
      {"all_to_all", allToAllSeconds},
      {"send", [](double bytes, int64_t, const Link &link) { return transferSeconds(bytes, link); }}};
  for (auto &[name, seconds] : kKinds)
    if (name == kind)
      return seconds(bytes, ranks, link);
  llvm_unreachable("a kind of message");
}

static double peakOf(const Cluster &cluster, llvm::StringRef dtype) {
  auto peak = cluster.flopsPerSecond.find(dtype.str());
  return peak == cluster.flopsPerSecond.end() ? cluster.flopsPerSecond.at("f32") : peak->second;
}

double p3d::peakFlops(const Cluster &cluster, int64_t ranks, llvm::StringRef dtype) {
  int64_t nodes = llvm::divideCeil(ranks, cluster.devicesPerNode);
  return peakOf(cluster, dtype) * (cluster.cores > 0 ? std::min(ranks, nodes * cluster.cores) : ranks);
}

static double efficiencyOf(Work work, const Cluster &cluster) {
  switch (work) {
  case Work::Product:
    return cluster.computeEfficiency;
  case Work::Attention:
    return cluster.attentionEfficiency;
  case Work::AttentionGradient:
    return cluster.attentionGradientEfficiency;
  }
  llvm_unreachable("a kind of work");
}

double p3d::workSeconds(double flops, double bytes, llvm::StringRef dtype, const Cluster &cluster, Work work) {
  return std::max(flops / (peakOf(cluster, dtype) * efficiencyOf(work, cluster)),
                  bytes / (cluster.memoryBytesPerSecond * cluster.memoryEfficiency));
}
