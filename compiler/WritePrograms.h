// The output directory of a compile: executables, manifest.json, plan.json.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Options.h"

namespace p3d {

/// Bytes of each stage's memory by kind, from a module after memory planning, in the order of the stages.
std::vector<StageMemory> measureMemory(mlir::ModuleOp planned);

/// What forbids that a compile puts its directory at `path`: something that is there and was not made by one. Empty if nothing does.
std::string checkOutput(llvm::StringRef path);

/// Writes `options.output`: one executable per stage from `lowered` (after the lower level), a link per rank, the manifest and the plan of
/// `scheduled` (after the schedule level). The directory appears whole or not at all; one that was there is replaced. Prints the cube on stdout. Returns the
/// exit code.
int writePrograms(mlir::ModuleOp scheduled, mlir::ModuleOp lowered, const ManifestInputs &inputs, const Options &options);

} // namespace p3d
