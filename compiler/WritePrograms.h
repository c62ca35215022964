// The output directory of a compile: executables, manifest.json, plan.json.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Options.h"

namespace p3d {

/// The directory of base.o and the start-up files: beside the directory of p3dc.
std::string libraryDirectory();

/// What forbids that a compile puts its directory at `path`: something that is there and was not made by one. Empty if nothing does.
std::string checkOutput(llvm::StringRef path);

/// Writes out what was printed on stdout. Returns the exit code.
int flushOutput();

/// The compile as its levels left it.
struct CompiledModules {
  mlir::ModuleOp scheduled, lowered;
  mlir::ModuleOp step;    ///< after autodiff; null if the compile began later, and the programs can then not be verified
  mlir::ModuleOp sharded; ///< after shard, by removeShardings; may be null
};

/// Writes `options.output`: one executable per stage, a link per rank, manifest, plan, and what a verification compares with. The directory appears whole or
/// not at all; one that was there is replaced. Prints the cube on stdout. Returns the
/// exit code.
int writePrograms(const CompiledModules &modules, const ManifestInputs &inputs, const Options &options);

} // namespace p3d
