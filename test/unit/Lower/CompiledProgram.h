// A module of one stage, compiled and loaded into this process.
#pragma once

#include "runtime/include/p3d/runtime.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace p3d::test {

/// The dialects of the levels from graph to exec.
void registerDialects(mlir::DialectRegistry &registry);

class CompiledProgram {
public:
  /// Compiles the stage of the module in `path`, which is at the level after schedule.
  explicit CompiledProgram(const std::string &path);
  /// The same for a module in memory, which is consumed.
  explicit CompiledProgram(mlir::ModuleOp module);
  ~CompiledProgram();

  bool isLoaded() const { return library != nullptr; }
  const std::string &error() const { return message; }

  /// The memory of an entry of "params", "inputs" or "results".
  template <typename T> T *data(llvm::StringRef list, llvm::StringRef name) {
    return reinterpret_cast<T *>(arena + *entry(list, name)->getInteger("offset"));
  }
  /// The memory of a buffer by its symbol.
  char *buffer(llvm::StringRef symbol) { return arena + offsets.lookup(symbol); }
  float *gradient(llvm::StringRef parameter) {
    return reinterpret_cast<float *>(arena + *entry("params", parameter)->getInteger("grad"));
  }
  /// Sets accumulators to zero and runs the tasks in the program's order.
  void runStep();
  const llvm::json::Object &description() const { return *text.getAsObject(); }

private:
  const llvm::json::Object *entry(llvm::StringRef list, llvm::StringRef name) const;
  void compileAndLoad(mlir::ModuleOp module);
  bool compile(mlir::ModuleOp module, const std::string &libraryPath);

  std::string message;
  void *library = nullptr;
  const p3d_task *tasks = nullptr;
  llvm::json::Value text = nullptr;
  char *arena = nullptr;
  llvm::StringMap<int64_t> offsets;
};

} // namespace p3d::test
