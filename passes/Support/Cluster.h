// The machines that a program is to run on: devices, their memory, and the links between them. Plain numbers, for
// costs.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>

namespace p3d {

/// What one device sends in one direction, when a large message keeps the link busy.
struct Link {
  double bytesPerSecond = 0;
  double latencySeconds = 0; ///< of one hop, from the call to the first byte
};

/// Alike nodes of alike devices. Ranks fill them in their order.
struct Cluster {
  std::string name;
  int64_t nodes = 0, devicesPerNode = 0; ///< 0 if the description leaves the size open
  double memoryBytes = 0, memoryBytesPerSecond = 0;
  std::map<std::string, double> flopsPerSecond;       ///< peak by element type: f64, f32, f16, bf16
  // What a good kernel reaches of the peaks: matrix products, attention and its gradient of that of their element type.
  double computeEfficiency = 1, attentionEfficiency = 1, attentionGradientEfficiency = 1, memoryEfficiency = 1;
  double launchSeconds = 0; ///< of an operation beside its work
  int64_t cores = 0;        ///< of a node, which its devices share; 0 where each device computes for itself
  Link inNode, betweenNodes;

  int64_t nodeOf(int64_t rank) const { return rank / devicesPerNode; }
  int64_t deviceOf(int64_t rank) const { return rank % devicesPerNode; }
  /// The link that a collective of `ranks` waits for: that between nodes as soon as two of them are on different ones.
  const Link &linkOf(llvm::ArrayRef<int64_t> ranks) const;
};

/// Reads a description as JSON. Every field but `nodes` and `devices_per_node` must be there; errors name `file`, the
/// field, what it is and what was expected.
llvm::Expected<Cluster> parseCluster(llvm::StringRef text, llvm::StringRef file);

/// Reads a size like `4x8` into `cluster`: nodes and devices of each. Fails for anything else, with what was expected.
llvm::Error parseClusterSize(llvm::StringRef text, Cluster &cluster);

} // namespace p3d
