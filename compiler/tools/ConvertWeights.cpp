#include "compiler/tools/ConvertWeights.h"
#include "frontend/model/WeightMap.h"
#include "runtime/DType.h"
#include "runtime/Data/TensorParts.h"
#include "runtime/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace p3d;
using llvm::StringRef;

namespace {
bool areEqual(const TensorView &a, const TensorView &b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::memcmp(a.data, b.data, size_t(a.bytes)) == 0;
}

/// `tensor` of a plan, where its parts lie, in the type that it is to have.
PartedTensor place(const model::TensorOfParts &tensor, const SafetensorsFile &file, const std::string &dtype) {
  PartedTensor placed;
  for (const model::PartOfTensor &part : tensor.parts)
    placed.parts.push_back({part.tensor, file.find(part.tensor), part.begin, part.count});
  p3d_dtype type;
  if (dtype.empty()) {
    type = commonType(tensor.name, placed.parts);
  } else {
    for (const TensorPart &part : placed.parts)
      checkConvertible(part);
    type = *parseDType(dtype);
  }
  placed.spec = {tensor.name, type, {tensor.shape.begin(), tensor.shape.end()}};
  return placed;
}

int64_t parameters(const PartedTensor &tensor) {
  int64_t count = 0;
  for (const TensorPart &part : tensor.parts)
    count += part.count;
  return count;
}

int complain(StringRef place, StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    llvm::errs() << place << ": error: " << line << "\n";
  return 1;
}

int convert(const tools::WeightConversion &conversion) {
  SafetensorsFile file(conversion.input);
  std::unique_ptr<llvm::MemoryBuffer> config;
  if (!conversion.config.empty()) {
    auto read = llvm::MemoryBuffer::getFile(conversion.config);
    if (!read)
      return complain(conversion.config, read.getError().message());
    config = std::move(*read);
  }
  model::TensorShapes shapes;
  for (const auto &[name, view] : file.tensors())
    shapes[name] = model::Shape(view.shape.begin(), view.shape.end());
  auto equal = [&](StringRef a, StringRef b) { return areEqual(*file.find(a.str()), *file.find(b.str())); };
  auto map = model::mapWeights({shapes, equal}, config ? std::optional(config->getBuffer()) : std::nullopt, conversion.scan);
  if (!map)
    return complain(config ? conversion.config : file.name(), llvm::toString(map.takeError()));
  std::vector<PartedTensor> tensors;
  int64_t total = 0;
  for (const model::TensorOfParts &tensor : map->tensors) {
    tensors.push_back(place(tensor, file, conversion.dtype));
    total += parameters(tensors.back());
  }
  for (const std::string &note : map->notes)
    llvm::errs() << file.name() << ": note: " << note << "\n";
  std::string written = writeParted(conversion.output, tensors, conversion.shardBytes);
  llvm::outs() << written << ": " << map->summary << ": " << total << " parameters in " << tensors.size() << " tensors\n";
  return 0;
}
} // namespace

int tools::convertWeights(const WeightConversion &conversion) {
  try {
    return convert(conversion);
  } catch (const Error &error) {
    complain("p3d-model", error.what());
    return int(error.code());
  }
}
