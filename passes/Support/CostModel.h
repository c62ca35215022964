// Predicted times: collectives by their algorithms, operations by the roofline.
//
// A ring of n ranks moves (n-1)/n of the tensor in n-1 hops (R. Thakur et al., Optimization of Collective Communication
// Operations in MPICH, 2005); NCCL takes it for large messages and trees for small ones.
#pragma once

#include "passes/Support/Cluster.h"

namespace p3d {

/// Seconds of a collective of `ranks` over links like `link`; nothing for one rank. `bytes` are those of the whole
/// tensor: the operand of a reduction or an exchange, the result of a gather. Ring: 2(n-1)/n B/bandwidth + 2(n-1)
/// latency; tree: 2 ceil(log2 n) (B/bandwidth + latency); whichever is less.
double allReduceSeconds(double bytes, int64_t ranks, const Link &link);
/// Ring: (n-1)/n B/bandwidth + (n-1) latency.
double allGatherSeconds(double bytes, int64_t ranks, const Link &link);
double reduceScatterSeconds(double bytes, int64_t ranks, const Link &link);
/// Each rank with each other in turn: (n-1)/n B/bandwidth + (n-1) latency.
double allToAllSeconds(double bytes, int64_t ranks, const Link &link);
/// From one rank to another: B/bandwidth + latency.
double transferSeconds(double bytes, const Link &link);

/// The same by the name of the kind: all_reduce, all_gather, reduce_scatter, all_to_all, or send (between two ranks).
double messageSeconds(llvm::StringRef kind, double bytes, int64_t ranks, const Link &link);

/// FLOP/s of `ranks` devices at their peak; those that share cores have the cores' alone.
double peakFlops(const Cluster &cluster, int64_t ranks, llvm::StringRef dtype);

/// What reaches its own part of the peak: see the efficiencies of a Cluster.
enum class Work { Product, Attention, AttentionGradient };

/// Seconds of work on one device: the longer of arithmetic and memory traffic. `dtype` is an element type; one without
/// a peak of its own counts as f32.
double workSeconds(double flops, double bytes, llvm::StringRef dtype, const Cluster &cluster, Work work = Work::Product);

} // namespace p3d
