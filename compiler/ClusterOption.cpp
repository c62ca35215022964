#include "compiler/ClusterOption.h"
#include "compiler/WritePrograms.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace p3d;

namespace {
constexpr llvm::StringLiteral kSuffix = ".json";

llvm::Error fail(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "--cluster=" + text + ": " + why);
}

std::string shippedDirectory() { return libraryDirectory() + "/clusters"; }

/// The names that are shipped, sorted.
llvm::SmallVector<std::string> shippedNames() {
  llvm::SmallVector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(shippedDirectory(), error), end; file != end && !error;
       file.increment(error))
    names.push_back(llvm::sys::path::stem(file->path()).str());
  llvm::sort(names);
  return names;
}
} // namespace

llvm::StringRef p3d::defaultCluster(bool forCuda) { return forCuda ? "a100-80g" : "cpu"; }

llvm::Expected<Cluster> p3d::readCluster(llvm::StringRef text, const Mesh &mesh) {
  auto [name, size] = text.rsplit(':');
  bool isFile = name.ends_with(kSuffix);
  std::string path = isFile ? name.str() : shippedDirectory() + "/" + name.str() + kSuffix.str();
  if (!isFile && !llvm::is_contained(shippedNames(), name))
    return fail(text, "'" + name + "' is no cluster; expected one of " + llvm::join(shippedNames(), ", ") +
                          ", or a file NAME.json, with its size like " + defaultCluster(/*forCuda=*/true) + ":4x8");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(text, path + ": " + buffer.getError().message());
  llvm::Expected<Cluster> cluster = parseCluster((*buffer)->getBuffer(), path);
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
