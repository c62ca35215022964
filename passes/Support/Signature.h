// Attributes of the arguments and results of a function, changed together: it holds them in one array each, which every single change makes anew.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace p3d {

/// Calls `edit` with the number of each argument and its attributes.
void editArgumentAttributes(mlir::FunctionOpInterface function, llvm::function_ref<void(unsigned, mlir::NamedAttrList &)> edit);
/// The same for results.
void editResultAttributes(mlir::FunctionOpInterface function, llvm::function_ref<void(unsigned, mlir::NamedAttrList &)> edit);

} // namespace p3d
