// Small graph programs for tests: parsed from text, given seeded inputs, interpreted.
#pragma once

#include "dialects/Graph/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace p3d::graph {

/// A context with the graph dialect; unregistered attributes are allowed.
mlir::MLIRContext &testContext();

/// The module that `text` is; fails the test and returns null if it does not parse.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::StringRef text);

/// The one program of `module`.
ProgramOp programOf(mlir::ModuleOp module);

/// A tensor of float type with the elements.
Tensor floats(llvm::ArrayRef<int64_t> shape, std::vector<double> elements);
/// A tensor of the integer type that `type` names ("i32", "ui32") with the elements.
Tensor ints(llvm::StringRef type, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> elements);

/// Seeded elements in [low, high), integers where the type is one.
Tensor randomTensor(mlir::RankedTensorType type, double low, double high, unsigned seed);

/// The results of the program of `text`; fails the test if there are none.
Tensors run(llvm::StringRef text, llvm::ArrayRef<Tensor> inputs);

} // namespace p3d::graph
