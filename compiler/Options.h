// What the user asked of p3dc: parsed and validated once, before any IR is read.
#pragma once

#include "compiler/CostTable.h"
#include "compiler/Mesh.h"
#include "compiler/ScheduleOption.h"
#include "passes/Support/Cluster.h"
#include <optional>
#include <string>
#include <vector>

namespace p3d {

/// What --recompute chooses between, from the least that is computed again to the most.
inline constexpr llvm::StringLiteral kRecomputeChoices[] = {"none", "selective", "full"};

struct Options {
  std::string input;              ///< path of the model; "-" is standard input
  std::string output;             ///< -o: directory of a compile, file of --emit; empty if not given
  Mesh mesh;
  std::string rankOrder;          ///< "tp-dp-pp" or "tp-pp-dp"
  std::optional<int64_t> microbatches; ///< nullopt: chosen
  std::string sequenceParallel = "auto"; ///< or on, off
  std::string schedule;            ///< a name, or the path of `written`
  std::optional<WrittenSchedule> written;
  int64_t live = 0;                ///< --live: the most microbatches alive on a stage; 0: as many as stages
  std::optional<CostTable> costTable;
  int64_t chunks = 1; ///< of each stage
  std::string stages;             ///< "auto" or layer counts "20,20,20,20"
  std::string recompute = "none"; ///< one of kRecomputeChoices, or auto: the first of them that fits the cluster's memory
  int64_t zero = 0;               ///< --zero: what is cut over dp, 0 to 3
  std::string gradReduce = "f32"; ///< or bf16: the type in which gradients are added
  std::string plan;               ///< path of a plan.json; empty if not given
  std::string optimizer;
  std::string params, inputs, freeze; ///< regular expressions on argument names
  bool forCuda = false;           ///< --target=cuda
  std::vector<int64_t> gpuArchitectures; ///< compute capabilities: 80 for sm_80
  std::string cpu;                ///< CPU to generate code for
  std::string emit, from;         ///< names of levels; empty if not given
  bool explain = false;           ///< --explain: print why each message is sent; without an output this is all
  bool explainAsJson = false;
  bool report = false;            ///< --report: print memory and time of the plan; without an output this is all
  bool reportAsJson = false;
  int64_t deviceMemory = 0;       ///< bytes that a stage may take; 0: no limit
  std::string dump;               ///< directory for the IR of every level
  Cluster cluster;                ///< what the ranks run on; the mesh fits. Of size 0: not known, and the passes assume one
  bool timing = false;
  std::string timeline;            ///< path of a .svg or .json; empty if not given

  /// Whether W is an action of its own, and where chunks stand.
  bool splitsBackward() const;
  Placement placement() const;

  /// Parses the command line. Prints what is wrong and returns nullopt for a bad one; exits for --help and --version.
  static std::optional<Options> parse(int argc, char **argv);
};

} // namespace p3d
