// What p3dc left in DIR: the executables of the ranks and the programs in them.
#pragma once
#include "runtime/Program/Program.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace p3d {

struct Build {
  std::string directory;
  std::vector<std::string> executables;                  ///< of each rank
  std::vector<const Program *> programs;                 ///< of each rank
  std::map<std::string, std::unique_ptr<Program>> owned; ///< by executable

  int worldSize() const { return int(programs.size()); }
  const Program &any() const { return *programs.front(); }
  std::vector<const Program *> distinctPrograms() const;
  /// That of the stages that have one: a stage may have nothing to update.
  Optimizer optimizer() const;
  /// Whether the gradient of the loss is what a run sets: the program computes in f16.
  bool scalesLoss() const;
  /// Known to the stages that have inputs.
  int64_t tokensPerStep() const;

  /// Reads DIR/manifest.json, asks each executable for its program, and checks
  /// that they belong together.
  static Build open(std::string directory);
};

} // namespace p3d
