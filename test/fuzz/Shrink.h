// A smaller case that still fails.
#pragma once

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace p3d::fuzz {

/// Takes results, axes, annotations, arguments and operations out of the module `text`, or puts constants and operands in their place, as long as `fails` holds for what is left.
std::string shrink(mlir::MLIRContext &context, llvm::StringRef text, llvm::function_ref<bool(llvm::StringRef)> fails);

} // namespace p3d::fuzz
