// Tensors of the interpreter from and to safetensors files.
#pragma once

#include "dialects/Graph/Interpreter.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace p3d {

/// A safetensors file, mapped; tensors are converted when asked for.
class TensorFile {
public:
  /// An error names the file and what is wrong with it.
  static llvm::Expected<TensorFile> open(llvm::StringRef path);

  bool has(llvm::StringRef name) const { return entries.contains(name); }
  std::vector<std::string> names() const;

  /// The tensor `name` with elements of class `elementType`: floats of any width as doubles, integers and booleans exactly.
  llvm::Expected<graph::Tensor> read(llvm::StringRef name, mlir::Type elementType) const;

private:
  struct Entry {
    std::string type;
    llvm::SmallVector<int64_t> shape;
    llvm::StringRef bytes;
  };
  llvm::Error readHeader(llvm::StringRef path);
  llvm::Expected<Entry> parseEntry(llvm::StringRef path, llvm::StringRef name, const llvm::json::Value &value, llvm::StringRef data) const;

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringMap<Entry> entries;
};

/// Named tensors in the order of writing.
using NamedTensors = std::vector<std::pair<std::string, graph::Tensor>>;

/// Writes floats as F64 and integers as I64.
llvm::Error writeTensorFile(llvm::StringRef path, const NamedTensors &tensors);

} // namespace p3d
