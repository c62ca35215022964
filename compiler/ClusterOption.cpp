#include "compiler/ClusterOption.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace p3d;

namespace {
constexpr llvm::StringLiteral kSuffix = ".json";

llvm::Error fail(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "--cluster=" + text + ": " + why);
}

struct Shipped {
  llvm::StringLiteral name, text;
};

/// The files of compiler/clusters, sorted by name.
constexpr Shipped kShipped[] = {
#include "compiler/Clusters.inc"
};

llvm::Expected<Cluster> readShipped(llvm::StringRef text, llvm::StringRef name) {
  for (const Shipped &shipped : kShipped)
    if (shipped.name == name)
      return parseCluster(shipped.text, name);
  auto names = llvm::map_range(kShipped, [](const Shipped &shipped) { return llvm::StringRef(shipped.name); });
  return fail(text, "'" + name + "' is no cluster; expected one of " + llvm::join(names, ", ") +
                        ", or a file NAME.json, with its size like " + defaultCluster(/*forCuda=*/true) + ":4x8");
}

llvm::Expected<Cluster> readFile(llvm::StringRef text, llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(text, path + ": " + buffer.getError().message());
  return parseCluster((*buffer)->getBuffer(), path);
}
} // namespace

llvm::StringRef p3d::defaultCluster(bool forCuda) { return forCuda ? "a100-80g" : "cpu"; }

llvm::Expected<Cluster> p3d::readCluster(llvm::StringRef text, const Mesh &mesh) {
  auto [name, size] = text.rsplit(':');
  llvm::Expected<Cluster> cluster = name.ends_with(kSuffix) ? readFile(text, name) : readShipped(text, name);
  if (!cluster)
    return cluster.takeError();
  if (!size.empty() || text.ends_with(":"))
    if (llvm::Error error = parseClusterSize(size, *cluster))
      return fail(text, llvm::toString(std::move(error)));
  if (cluster->nodes == 0) {
    cluster->nodes = mesh.pp;
    cluster->devicesPerNode = mesh.tp * mesh.dp;
  }
  if (cluster->nodes < int64_t(llvm::divideCeil(mesh.ranks(), cluster->devicesPerNode)))
    return fail(
        text,
        llvm::formatv(
            "{0} nodes of {1} devices are fewer than the {2} ranks of the mesh; use a larger cluster or a smaller mesh",
            cluster->nodes, cluster->devicesPerNode, mesh.ranks()));
  return cluster;
}
