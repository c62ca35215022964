#include "passes/Support/JsonFile.h"
#include "llvm/Support/MemoryBuffer.h"

llvm::Expected<llvm::json::Object> p3d::readJsonObject(llvm::StringRef path, llvm::StringRef expected) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return llvm::createStringError(text.getError().message());
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*text)->getBuffer());
  if (!value)
    return value.takeError();
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  return llvm::createStringError("holds no JSON object; expected " + expected);
}
