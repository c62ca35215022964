// The value of --cluster: a shipped name or a file, and the size.
#pragma once

#include "compiler/Mesh.h"
#include "passes/Support/Cluster.h"

namespace p3d {

/// The cluster that `text` (`h200:4x8`, `h200`, `FILE.json`, `FILE.json:4x8`) describes, on which `mesh` fits. Where
/// neither says how large it is, each stage has a node of its own.
llvm::Expected<Cluster> readCluster(llvm::StringRef text, const Mesh &mesh);

/// What --cluster is where it is not given.
llvm::StringRef defaultCluster(bool forCuda);

} // namespace p3d
