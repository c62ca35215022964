// The description of a compile for people and scripts: manifest.json and plan.json. Fields: INTERFACE in docs.
#pragma once

#include "compiler/CostTable.h"
#include "compiler/ProgramMemory.h"
#include "compiler/RankOrder.h"
#include "passes/Support/Cluster.h"
#include "passes/Support/Flops.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace p3d {

/// What the module does not say.
struct ManifestInputs {
  std::string model;
  RankOrder::Kind rankOrder = RankOrder::TpDpPp;
  Cluster cluster;                 ///< of known size
  std::string schedule;
  std::optional<CostTable> costTable; ///< in place of the times that the cluster would need
  std::string stages = "auto";
  int64_t zero = 0;
  std::string recompute;
  std::vector<StageMemory> memory; ///< of each stage; may be empty
  std::optional<Flops> modelFlops; ///< of the step before anything was cut; if not known, those of all ranks stand for it
};

/// The manifest of a scheduled module.
llvm::json::Object makeManifest(mlir::ModuleOp module, const ManifestInputs &inputs);
/// The decisions of the compile, for --plan.
llvm::json::Object makePlan(mlir::ModuleOp module, const ManifestInputs &inputs);

} // namespace p3d
