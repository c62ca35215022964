// JSON files that users write.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace p3d {

/// The object in the file at `path`. Errors say what is wrong, not where; `expected` describes what should be there.
llvm::Expected<llvm::json::Object> readJsonObject(llvm::StringRef path, llvm::StringRef expected);

} // namespace p3d
