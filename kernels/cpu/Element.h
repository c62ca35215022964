// Element types of the CPU kernels: all arithmetic is f32, so a kernel reads and writes rows of f32 and these classes
// widen and round. For f32 tensors they hand out the tensor's own rows and cost nothing.
#pragma once
#include "runtime/include/p3d/runtime.h"
#include <cstddef>
#include <memory>

namespace p3d {

/// Bytes of one element of a floating type; ends the program for a type that has no kernels.
int64_t elementSize(int32_t dtype);

/// Says on stderr that `kernel` has no form for `dtype` and ends the program: emitted code is at fault.
[[noreturn]] void refuseElementType(const char *kernel, int32_t dtype);

/// dst[i] = f32(src[i]).
void widen(int32_t dtype, const void *src, float *dst, int64_t count);
/// dst[i] = src[i] rounded to nearest even.
void narrow(int32_t dtype, const float *src, void *dst, int64_t count);

inline const void *offset(int32_t dtype, const void *data, int64_t elements) {
  return static_cast<const char *>(data) + elements * elementSize(dtype);
}
inline void *offset(int32_t dtype, void *data, int64_t elements) {
  return static_cast<char *>(data) + elements * elementSize(dtype);
}

/// Rows of up to `cols` elements, read as f32. A row is valid until the next call of read.
class RowReader {
public:
  RowReader(int32_t dtype, const void *data, int64_t cols)
      : dtype(dtype), data(data), scratch(dtype == P3D_F32 ? nullptr : new float[cols]) {}
  const float *read(int64_t firstElement, int64_t count) const {
    if (dtype == P3D_F32)
      return static_cast<const float *>(data) + firstElement;
    widen(dtype, offset(dtype, data, firstElement), scratch.get(), count);
    return scratch.get();
  }

private:
  int32_t dtype;
  const void *data;
  std::unique_ptr<float[]> scratch;
};

/// Rows of up to `cols` elements, written as f32: fill the row that `row` gives, then call `commit` with the same
/// place.
class RowWriter {
public:
  RowWriter(int32_t dtype, void *data, int64_t cols)
      : dtype(dtype), data(data), scratch(dtype == P3D_F32 ? nullptr : new float[cols]) {}
  float *row(int64_t firstElement) const {
    return dtype == P3D_F32 ? static_cast<float *>(data) + firstElement : scratch.get();
  }
  void commit(int64_t firstElement, int64_t count) const {
    if (dtype != P3D_F32)
      narrow(dtype, scratch.get(), offset(dtype, data, firstElement), count);
  }

private:
  int32_t dtype;
  void *data;
  std::unique_ptr<float[]> scratch;
};

} // namespace p3d
