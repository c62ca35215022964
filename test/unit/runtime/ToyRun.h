// Runs the toy program (ToyStage.c) under p3d-run and computes what it should
// give.
#pragma once
#include "runtime/Data/Safetensors.h"
#include <map>
#include <string>
#include <vector>

namespace p3d::test {

struct CommandResult {
  int exitCode;
  std::string output; ///< stdout and stderr
  double seconds;
};

/// Runs a shell command.
CommandResult runCommand(const std::string &command);

/// A shell command that runs `command` where the directory `disk` is a file system of 8 KiB, all of them taken by the file `full`; empty if none may be
/// mounted here.
std::string onFullDisk(const std::string &disk, const std::string &command);

/// A directory of its own under the system's temporary one, removed at the end.
class ToyRun {
public:
  /// `programs`: the directory with bin/stage0 and bin/stage1.
  explicit ToyRun(const std::string &programs = P3D_TOY);
  ~ToyRun();
  std::string path(const std::string &name) const {
    return directory + "/" + name;
  }
  /// p3d-run on the toy with its batch; `environment` stands before the
  /// command.
  CommandResult run(const std::string &flags,
                    const std::string &environment = "") const;
  /// One start of several, as mpirun or srun makes them.
  struct Part {
    std::string environment, flags;
    bool isLauncher = false; ///< p3d-run in place of bin/rank
    int killAfter = 0;       ///< seconds
  };
  /// Starts all parts at once, with the same MASTER_ADDR and MASTER_PORT.
  std::vector<CommandResult> runParts(const std::vector<Part> &parts,
                                      const std::string &environment) const;
  /// Puts a shell script in the place of the executable of `rank`.
  void setProgram(int rank, const std::string &script) const;
  /// Names of files left in the directory, sorted.
  std::vector<std::string> files() const;

private:
  std::string directory;
};

/// A TCP port that nothing has at this moment.
int freePort();

using Tensors = std::map<std::string, std::vector<float>>;
Tensors readTensors(const std::string &path);
void writeTensors(const std::string &path, const std::vector<TensorSpec> &specs,
                  const Tensors &values);

/// x and t of the toy's batch.
Tensors toyBatch();

/// The toy's loss and gradients for these parameters, in double.
double toyLoss(const Tensors &params, const Tensors &batch,
               std::map<std::string, std::vector<double>> &gradients);

/// Runs three steps of the toy and compares each with toyLoss and a plain AdamW.
void expectOneDevice(const ToyRun &toy);

} // namespace p3d::test
