#include "compiler/TensorFile.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace p3d;
using p3d::graph::Tensor;

namespace {
constexpr size_t kLengthBytes = 8;

template <typename... Args> Error fileError(StringRef path, const char *format, Args... args) {
  return createStringError(inconvertibleErrorCode(), ("%s: " + std::string(format)).c_str(), path.str().c_str(), args...);
}

/// How elements of a safetensors type are read.
struct ElementFormat {
  unsigned bytes = 0;
  bool isFloat = false, isSigned = false;
  const fltSemantics *semantics = nullptr;
};

ElementFormat formatOf(StringRef type) {
  return StringSwitch<ElementFormat>(type)
      .Case("F64", {8, true, true, &APFloat::IEEEdouble()})
      .Case("F32", {4, true, true, &APFloat::IEEEsingle()})
      .Case("F16", {2, true, true, &APFloat::IEEEhalf()})
      .Case("BF16", {2, true, true, &APFloat::BFloat()})
      .Case("I64", {8, false, true})
      .Case("I32", {4, false, true})
      .Case("I16", {2, false, true})
      .Case("I8", {1, false, true})
      .Case("U64", {8, false, false})
      .Case("U32", {4, false, false})
      .Case("U16", {2, false, false})
      .Case("U8", {1, false, false})
      .Case("BOOL", {1, false, false})
      .Default({});
}

uint64_t littleEndian(const char *at, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= uint64_t(uint8_t(at[i])) << (8 * i);
  return value;
}

double floatAt(const char *at, const ElementFormat &format) {
  APFloat value(*format.semantics, APInt(format.bytes * 8, littleEndian(at, format.bytes)));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

int64_t intAt(const char *at, const ElementFormat &format) {
  uint64_t value = littleEndian(at, format.bytes);
  return format.isSigned ? SignExtend64(value, format.bytes * 8) : int64_t(value);
}
} // namespace

Expected<TensorFile> TensorFile::open(StringRef path) {
  auto mapped = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!mapped)
    return fileError(path, "%s", mapped.getError().message().c_str());
  TensorFile file;
  file.buffer = std::move(*mapped);
  if (Error error = file.readHeader(path))
    return std::move(error);
  return file;
}

Error TensorFile::readHeader(StringRef path) {
  StringRef text = buffer->getBuffer();
  if (text.size() < kLengthBytes)
    return fileError(path, "holds %zu bytes, expected at least the 8 of a safetensors header's length", text.size());
  uint64_t length = littleEndian(text.data(), kLengthBytes);
  if (length > text.size() - kLengthBytes)
    return fileError(path, "header of %llu bytes at offset 8 ends beyond the file", (unsigned long long)length);
  Expected<json::Value> header = json::parse(text.substr(kLengthBytes, length));
  if (!header)
    return fileError(path, "header at offset 8 is no JSON: %s", toString(header.takeError()).c_str());
  const json::Object *fields = header->getAsObject();
  if (!fields)
    return fileError(path, "header at offset 8 is no JSON object");
  for (const auto &[key, value] : *fields) {
    if (StringRef(key) == "__metadata__")
      continue;
    Expected<Entry> entry = parseEntry(path, key, value, text.substr(kLengthBytes + length));
    if (!entry)
      return entry.takeError();
    entries[key] = std::move(*entry);
  }
  return Error::success();
}

Expected<TensorFile::Entry> TensorFile::parseEntry(StringRef path, StringRef name, const json::Value &value, StringRef data) const {
  const json::Object *fields = value.getAsObject();
  const json::Array *shape = fields ? fields->getArray("shape") : nullptr, *offsets = fields ? fields->getArray("data_offsets") : nullptr;
  auto type = fields ? fields->getString("dtype") : std::nullopt;
  if (!shape || !offsets || !type || offsets->size() != 2)
    return fileError(path, "tensor '%s' lacks dtype, shape or data_offsets", name.str().c_str());
  Entry entry{type->str(), {}, {}};
  int64_t elements = 1;
  bool overflows = false;
  for (const json::Value &size : *shape) {
    entry.shape.push_back(size.getAsInteger().value_or(-1));
    overflows |= llvm::MulOverflow(elements, entry.shape.back(), elements);
  }
  int64_t begin = (*offsets)[0].getAsInteger().value_or(-1), end = (*offsets)[1].getAsInteger().value_or(-1);
  ElementFormat format = formatOf(entry.type);
  if (!format.bytes)
    return fileError(path, "tensor '%s' has dtype %s, which is not read", name.str().c_str(), entry.type.c_str());
  if (llvm::any_of(entry.shape, [](int64_t size) { return size < 0; }))
    return fileError(path, "tensor '%s' has a negative size in its shape", name.str().c_str());
  if (overflows || elements > int64_t(data.size()))
    return fileError(path, "tensor '%s' has a shape larger than the file", name.str().c_str());
  if (begin < 0 || end < begin || end > int64_t(data.size()) || end - begin != elements * format.bytes)
    return fileError(path, "tensor '%s' has data offsets [%lld, %lld), expected %lld bytes within the file", name.str().c_str(),
                     (long long)begin, (long long)end, (long long)(elements * format.bytes));
  entry.bytes = data.slice(begin, end);
  return entry;
}

std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> all;
  for (const auto &entry : entries)
    all.push_back(entry.getKey().str());
  llvm::sort(all);
  return all;
}

Expected<Tensor> TensorFile::read(StringRef name, mlir::Type elementType) const {
  auto found = entries.find(name);
  if (found == entries.end())
    return createStringError(inconvertibleErrorCode(), "no tensor '%s' in the file", name.str().c_str());
  const Entry &entry = found->second;
  ElementFormat format = formatOf(entry.type);
  Tensor tensor(entry.shape, elementType);
  if (tensor.isFloat() != format.isFloat)
    return createStringError(inconvertibleErrorCode(), "tensor '%s' has dtype %s, which the program's argument cannot take",
                             name.str().c_str(), entry.type.c_str());
  const char *at = entry.bytes.data();
  for (int64_t i = 0, n = tensor.size(); i < n; ++i, at += format.bytes) {
    if (format.isFloat)
      tensor.floats[i] = floatAt(at, format);
    else
      tensor.ints[i] = graph::wrapInteger(intAt(at, format), elementType);
  }
  return tensor;
}

Error p3d::writeTensorFile(StringRef path, const NamedTensors &tensors) {
  json::Object header;
  int64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    int64_t end = offset + tensor.size() * 8;
    header[name] = json::Object{{"dtype", tensor.isFloat() ? "F64" : "I64"}, {"shape", json::Array(tensor.shape)},
                                {"data_offsets", json::Array{offset, end}}};
    offset = end;
  }
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error)
    return fileError(path, "%s", error.message().c_str());
  std::string text = formatv("{0}", json::Value(std::move(header))).str();
  text.append((8 - text.size() % 8) % 8, ' ');
  char length[kLengthBytes];
  support::endian::write64le(length, text.size());
  out.write(length, sizeof(length));
  out << text;
  for (const auto &[name, tensor] : tensors)
    out.write(tensor.isFloat() ? reinterpret_cast<const char *>(tensor.floats.data())
                               : reinterpret_cast<const char *>(tensor.ints.data()),
              tensor.size() * 8);
  out.close();
  error = out.error();
  if (!error)
    return Error::success();
  out.clear_error();
  sys::fs::remove(path); // half-written; a device stays
  return fileError(path, "%s", error.message().c_str());
}
