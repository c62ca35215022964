// Blocks of elements are accumulated in a local buffer and then stored, so that
// a target may also be a source.
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace p3d {
namespace {

constexpr int64_t blockElements = 1024;

/// How an element type is stored, and the type its reduction is done in.
template <typename T> struct Plain {
  using Stored = T;
  using Compute = T;
  static Compute load(Stored value) { return value; }
  static Stored store(Compute value) { return value; }
};
struct BFloat16 {
  using Stored = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return fromBF16(bits); }
  static uint16_t store(float value) { return toBF16(value); }
};
struct Float16 {
  using Stored = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return fromF16(bits); }
  static uint16_t store(float value) { return toF16(value); }
};

// A NaN on any rank is the result of max and min, as in StableHLO.
template <typename T> T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> T minimum(T a, T b) { return a < b || a != a ? a : b; }

/// Integer sums and products wrap; unsigned arithmetic defines that.
template <typename T> struct Wrapping {
  using Type =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                  std::common_type<T>>::type;
};

template <typename Format, typename Combine>
void reduceBlocks(const std::vector<const char *> &sources,
                  const std::vector<char *> &targets, int64_t begin,
                  int64_t end, Combine combine) {
  using Stored = typename Format::Stored;
  using Compute = typename Format::Compute;
  Compute sum[blockElements];
  Stored stored[blockElements];
  for (int64_t at = begin; at < end; at += blockElements) {
    int64_t count = std::min(blockElements, end - at);
    const Stored *first = reinterpret_cast<const Stored *>(sources[0]) + at;
    for (int64_t i = 0; i < count; ++i)
      sum[i] = Format::load(first[i]);
    for (size_t s = 1; s < sources.size(); ++s) {
      const Stored *next = reinterpret_cast<const Stored *>(sources[s]) + at;
      for (int64_t i = 0; i < count; ++i)
        sum[i] = combine(sum[i], Format::load(next[i]));
    }
    for (int64_t i = 0; i < count; ++i)
      stored[i] = Format::store(sum[i]);
    for (char *target : targets)
      std::memcpy(target + at * int64_t(sizeof(Stored)), stored,
                  size_t(count) * sizeof(Stored));
  }
}

template <typename Format>
bool reduceNumbers(p3d_reduce_kind kind,
                   const std::vector<const char *> &sources,
                   const std::vector<char *> &targets, int64_t begin,
                   int64_t end) {
  using T = typename Format::Compute;
  using W = typename Wrapping<T>::Type;
  auto run = [&](auto combine) {
    reduceBlocks<Format>(sources, targets, begin, end, combine);
    return true;
  };
  switch (kind) {
  case P3D_SUM:
    return run([](T a, T b) { return T(W(a) + W(b)); });
  case P3D_PROD:
    // 16-bit factors widen to int, which could overflow: take 64 bits.
    if constexpr (std::is_integral_v<T>)
      return run([](T a, T b) { return T(uint64_t(a) * uint64_t(b)); });
    else
      return run([](T a, T b) { return a * b; });
  case P3D_MAX:
    return run(maximum<T>);
  case P3D_MIN:
    return run(minimum<T>);
  case P3D_AND:
    if constexpr (std::is_integral_v<T>)
      return run([](T a, T b) { return T(a & b); });
    return false;
  case P3D_OR:
    if constexpr (std::is_integral_v<T>)
      return run([](T a, T b) { return T(a | b); });
    return false;
  }
  return false;
}

/// An i1 is 0 or 1: its sum is the logical or, its product the logical and.
p3d_reduce_kind logicalKind(p3d_reduce_kind kind) {
  switch (kind) {
  case P3D_SUM:
  case P3D_MAX:
  case P3D_OR:
    return P3D_OR;
  case P3D_PROD:
  case P3D_MIN:
  case P3D_AND:
    return P3D_AND;
  }
  return kind;
}

template <typename... Args>
bool reduceTyped(p3d_dtype dtype, p3d_reduce_kind kind, Args &&...args) {
  switch (dtype) {
  case P3D_F32:
    return reduceNumbers<Plain<float>>(kind, args...);
  case P3D_BF16:
    return reduceNumbers<BFloat16>(kind, args...);
  case P3D_F16:
    return reduceNumbers<Float16>(kind, args...);
  case P3D_F64:
    return reduceNumbers<Plain<double>>(kind, args...);
  case P3D_I32:
    return reduceNumbers<Plain<int32_t>>(kind, args...);
  case P3D_I64:
    return reduceNumbers<Plain<int64_t>>(kind, args...);
  case P3D_UI32:
    return reduceNumbers<Plain<uint32_t>>(kind, args...);
  case P3D_UI64:
    return reduceNumbers<Plain<uint64_t>>(kind, args...);
  case P3D_I1:
    return reduceNumbers<Plain<uint8_t>>(logicalKind(kind), args...);
  case P3D_I8:
    return reduceNumbers<Plain<int8_t>>(kind, args...);
  case P3D_UI8:
    return reduceNumbers<Plain<uint8_t>>(kind, args...);
  case P3D_I16:
    return reduceNumbers<Plain<int16_t>>(kind, args...);
  case P3D_UI16:
    return reduceNumbers<Plain<uint16_t>>(kind, args...);
  }
  return false;
}

} // namespace

void reduceRange(p3d_reduce_kind kind, p3d_dtype dtype,
                 const std::vector<const char *> &sources,
                 const std::vector<char *> &targets, int64_t begin,
                 int64_t end) {
  if (!reduceTyped(dtype, kind, sources, targets, begin, end))
    internalError("no reduction of kind {} over {}", int(kind),
                  info(dtype).name);
}

} // namespace p3d
