// Safetensors batches, named after the inputs.
#include "runtime/Data/Batch.h"
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Data/TokenFile.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include <cstring>

namespace p3d {
namespace {

template <typename T>
void checkTyped(const Input &input, const char *data, int64_t count,
                int64_t first, const std::string &where) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * int64_t(sizeof(T)), sizeof(T));
    bool tooLow = std::is_signed_v<T> && int64_t(value) < -input.indexLimit;
    bool tooHigh = std::is_signed_v<T>
                       ? int64_t(value) >= input.indexLimit
                       : uint64_t(value) >= uint64_t(input.indexLimit);
    if (tooLow || tooHigh)
      refuseIndex(input, int64_t(value), first + i, where);
  }
}

class SafetensorsBatch : public BatchSource {
public:
  explicit SafetensorsBatch(const std::string &path) : file(path) {}

  void check(const Program &program) override {
    for (const Input &input : program.inputs) {
      const TensorView &view =
          file.expect(input.name, input.dtype, input.globalShape);
      if (input.indexLimit > 0)
        checkIndices(input, view.data, view.bytes / info(view.dtype).bytes, 0,
                     file.name());
    }
    for (const Param &param : program.params)
      if (param.role == Role::Key && file.find(param.name))
        file.expect(param.name, param.fileDType, param.globalShape);
  }

  void fill(const Input &input, const Program &program, Coordinates at, int64_t,
            char *storage) override {
    const TensorView &view =
        file.expect(input.name, input.dtype, input.globalShape);
    int64_t size = info(input.dtype).bytes;
    localLayout(input, program.mesh, at)
        .forEachRun([&](int64_t global, int64_t local, int64_t count) {
          std::memcpy(storage + local * size, view.data + global * size,
                      size_t(count * size));
        });
  }

  int64_t batches(const Program &) const override { return 1; }

  bool fillKey(const Param &key, char *storage) override {
    const TensorView *view = file.find(key.name);
    if (view)
      std::memcpy(storage, view->data, size_t(view->bytes));
    return view != nullptr;
  }

private:
  SafetensorsFile file;
};

class NoBatch : public BatchSource {
public:
  void check(const Program &program) override {
    if (!program.inputs.empty())
      userError("the program reads {}; give a batch or a token file with "
                "--data=FILE",
                program.inputs.front().name);
  }
  void fill(const Input &, const Program &, Coordinates, int64_t,
            char *) override {}
  int64_t batches(const Program &) const override { return INT64_MAX; }
  bool fillKey(const Param &, char *) override { return false; }
};

} // namespace

void refuseIndex(const Input &input, int64_t value, int64_t element,
                 const std::string &where) {
  userError("{}: element {} of {} is {}, outside [-{}, {}) of what it indexes",
            where, element, input.name, value, input.indexLimit,
            input.indexLimit);
}

void checkIndices(const Input &input, const char *data, int64_t count,
                  int64_t first, const std::string &where) {
  switch (input.dtype) {
  case P3D_I32:
    return checkTyped<int32_t>(input, data, count, first, where);
  case P3D_I64:
    return checkTyped<int64_t>(input, data, count, first, where);
  case P3D_UI32:
    return checkTyped<uint32_t>(input, data, count, first, where);
  case P3D_UI64:
    return checkTyped<uint64_t>(input, data, count, first, where);
  case P3D_I8:
    return checkTyped<int8_t>(input, data, count, first, where);
  case P3D_UI8:
    return checkTyped<uint8_t>(input, data, count, first, where);
  case P3D_I16:
    return checkTyped<int16_t>(input, data, count, first, where);
  case P3D_UI16:
    return checkTyped<uint16_t>(input, data, count, first, where);
  case P3D_F32:
  case P3D_BF16:
  case P3D_F16:
  case P3D_F64:
  case P3D_I1:
    break;
  }
  internalError("input {} of type {} has an index limit", input.name,
                info(input.dtype).name);
}

bool isTokenFile(const std::string &path) {
  static const std::string suffix = ".safetensors";
  return !path.empty() && (path.size() < suffix.size() ||
                           path.compare(path.size() - suffix.size(), suffix.size(), suffix) != 0);
}

std::unique_ptr<BatchSource> openBatchSource(const std::string &path,
                                             const DataOptions &options) {
  if (path.empty())
    return std::make_unique<NoBatch>();
  if (isTokenFile(path))
    return std::make_unique<TokenFile>(path, options);
  return std::make_unique<SafetensorsBatch>(path);
}

} // namespace p3d
