// Each element is read once, by whoever reduces it, and the result is written to all targets while it is in the cache.
// Blocks are short enough that those of all sources stay there too, and are summed in a local buffer, some sources at a
// time, so that a target may also be a source.
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "kernels/cpu/Vector.h"
#include "runtime/DType.h"
#include "runtime/Error.h"
#include <algorithm>
#include <type_traits>

namespace p3d {
namespace {

constexpr int64_t blockElements = 256;
/// Sources up to which the next block is fetched ahead: that of more would drive out this one.
constexpr size_t mostFetched = 8;

/// How an element type is stored, and the type its reduction is done in.
template <typename T> struct Plain {
  using Stored = T;
  using Compute = T;
  static P3D_INLINE T load(T value) { return value; }
  static P3D_INLINE T store(T value) { return value; }
};

struct BFloat16 {
  using Stored = uint16_t;
  using Compute = float;
  static P3D_INLINE float load(uint16_t bits) { return fromBits(uint32_t(bits) << 16); }
  static P3D_INLINE uint16_t store(float value) {
    uint32_t bits = toBits(value);
    uint32_t nearestEven = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quietNan = (bits >> 16) | 0x40u;
    return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? quietNan : nearestEven);
  }
};

/// By integers, which vectorise on every machine and give the same bits.
struct Float16 {
  using Stored = uint16_t;
  using Compute = float;
  static P3D_INLINE float load(uint16_t half) {
    uint32_t magnitude = (half & 0x7fffu) << 13;
    // The bias of the exponent grows by 112; a multiplication also makes normal numbers of subnormal ones.
    uint32_t bits = toBits(fromBits(magnitude) * 0x1p112f);
    bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u; // infinities and NaNs
    return fromBits(bits | (half & 0x8000u) << 16);
  }
  static P3D_INLINE uint16_t store(float value) {
    uint32_t bits = toBits(value), magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // A sum with 0.5 has the units of subnormal numbers, and is rounded as they should be.
    uint32_t subnormal = toBits(fromBits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t nan = ((magnitude >> 13) & 0x3ffu) | 0x7e00u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal; // below 2^-14
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;             // from 65520 on
    half = magnitude > 0x7f800000u ? nan : half;
    return uint16_t(half | ((bits >> 16) & 0x8000u));
  }
};

/// Integer sums and products wrap; unsigned arithmetic defines that, in 64 bits where 16-bit factors would widen to
/// int.
struct Sum {
  template <typename T> static P3D_INLINE T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
};
struct Product {
  template <typename T> static P3D_INLINE T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};
// A NaN on any rank is the result of max and min, as in StableHLO.
struct Maximum {
  template <typename T> static P3D_INLINE T of(T a, T b) {
    T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
struct Minimum {
  template <typename T> static P3D_INLINE T of(T a, T b) {
    T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
struct And {
  template <typename T> static P3D_INLINE T of(T a, T b) { return a & b; }
};
struct Or {
  template <typename T> static P3D_INLINE T of(T a, T b) { return a | b; }
};

// Blocks of elements. `sum` is of the type of the reduction, the others are as they are stored.

template <typename Format> P3D_VECTOR_CLONES void loadBlock(void *sum, const void *data, int64_t count) {
  auto *to = static_cast<typename Format::Compute *>(sum);
  auto *from = static_cast<const typename Format::Stored *>(data);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = Format::load(from[i]);
}

template <typename Format> P3D_VECTOR_CLONES void storeBlock(const void *sum, void *data, int64_t count) {
  auto *from = static_cast<const typename Format::Compute *>(sum);
  auto *to = static_cast<typename Format::Stored *>(data);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = Format::store(from[i]);
}

template <typename Format, typename Op> P3D_VECTOR_CLONES void addBlock(void *sum, const void *data, int64_t count) {
  auto *to = static_cast<typename Format::Compute *>(sum);
  auto *from = static_cast<const typename Format::Stored *>(data);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = Op::of(to[i], Format::load(from[i]));
}

/// Those of three sources in their order: `sum` is read and written once for all.
template <typename Format, typename Op>
P3D_VECTOR_CLONES void addThree(void *sum, const void *first, const void *second, const void *third, int64_t count) {
  auto *to = static_cast<typename Format::Compute *>(sum);
  auto *a = static_cast<const typename Format::Stored *>(first);
  auto *b = static_cast<const typename Format::Stored *>(second);
  auto *c = static_cast<const typename Format::Stored *>(third);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = Op::of(Op::of(Op::of(to[i], Format::load(a[i])), Format::load(b[i])), Format::load(c[i]));
}

/// One reduction over one element type, block by block.
struct Reduction {
  void (*load)(void *, const void *, int64_t);
  void (*add)(void *, const void *, int64_t);
  void (*addThree)(void *, const void *, const void *, const void *, int64_t); ///< null: one by one
  void (*store)(const void *, void *, int64_t);                                ///< null: the sum is of the stored type
};

template <typename Format, typename Op> Reduction make() {
  Reduction reduction{loadBlock<Format>, addBlock<Format, Op>, nullptr, nullptr};
  // Integers are rarely reduced, and never much of them.
  if constexpr (!std::is_integral_v<typename Format::Compute>)
    reduction.addThree = addThree<Format, Op>;
  if constexpr (!std::is_same_v<typename Format::Stored, typename Format::Compute>)
    reduction.store = storeBlock<Format>;
  return reduction;
}

/// Nothing where `kind` has no meaning.
template <typename Format> std::optional<Reduction> reductionOf(p3d_reduce_kind kind) {
  constexpr bool kHasBits = std::is_integral_v<typename Format::Compute>;
  switch (kind) {
  case P3D_SUM:
    return make<Format, Sum>();
  case P3D_PROD:
    return make<Format, Product>();
  case P3D_MAX:
    return make<Format, Maximum>();
  case P3D_MIN:
    return make<Format, Minimum>();
  case P3D_AND:
    if constexpr (kHasBits)
      return make<Format, And>();
    break;
  case P3D_OR:
    if constexpr (kHasBits)
      return make<Format, Or>();
    break;
  }
  return std::nullopt;
}

/// Of integers only the order tells signed from unsigned.
template <typename Signed> std::optional<Reduction> integerReductionOf(p3d_reduce_kind kind) {
  if (kind == P3D_MAX || kind == P3D_MIN)
    return reductionOf<Plain<Signed>>(kind);
  return reductionOf<Plain<std::make_unsigned_t<Signed>>>(kind);
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

std::optional<Reduction> reductionOf(p3d_reduce_kind kind, p3d_dtype dtype) {
  switch (dtype) {
  case P3D_F32:
    return reductionOf<Plain<float>>(kind);
  case P3D_BF16:
    return reductionOf<BFloat16>(kind);
  case P3D_F16:
    return reductionOf<Float16>(kind);
  case P3D_F64:
    return reductionOf<Plain<double>>(kind);
  case P3D_I32:
    return integerReductionOf<int32_t>(kind);
  case P3D_I64:
    return integerReductionOf<int64_t>(kind);
  case P3D_UI32:
    return reductionOf<Plain<uint32_t>>(kind);
  case P3D_UI64:
    return reductionOf<Plain<uint64_t>>(kind);
  case P3D_I1:
    return reductionOf<Plain<uint8_t>>(logicalKind(kind));
  case P3D_I8:
    return integerReductionOf<int8_t>(kind);
  case P3D_UI8:
    return reductionOf<Plain<uint8_t>>(kind);
  case P3D_I16:
    return integerReductionOf<int16_t>(kind);
  case P3D_UI16:
    return reductionOf<Plain<uint16_t>>(kind);
  }
  return std::nullopt;
}

/// Streams of blocks begin anew at every block, which the processor does not foresee.
void fetch(const std::vector<const char *> &sources, int64_t offset, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (const char *source : sources)
    for (int64_t line = 0; line < bytes; line += kLine)
      __builtin_prefetch(source + offset + line, 1);
}

} // namespace

void reduceRange(p3d_reduce_kind kind, p3d_dtype dtype, const std::vector<const char *> &sources,
                 const std::vector<char *> &targets, int64_t begin, int64_t end) {
  std::optional<Reduction> reduction = reductionOf(kind, dtype);
  if (!reduction)
    internalError("no reduction of kind {} over {}", int(kind), info(dtype).name);
  alignas(64) char sum[blockElements * sizeof(double)], stored[blockElements * sizeof(uint16_t)];
  const int64_t bytes = info(dtype).bytes;
  const size_t count = sources.size();
  for (int64_t at = begin; at < end; at += blockElements) {
    int64_t elements = std::min(blockElements, end - at), next = at + elements;
    if (count <= mostFetched)
      fetch(sources, next * bytes, std::min(blockElements, end - next) * bytes);
    auto block = [&](size_t s) { return sources[s] + at * bytes; };
    reduction->load(sum, block(0), elements);
    size_t s = 1;
    for (; reduction->addThree && s + 3 <= count; s += 3)
      reduction->addThree(sum, block(s), block(s + 1), block(s + 2), elements);
    for (; s < count; ++s)
      reduction->add(sum, block(s), elements);
    if (reduction->store)
      reduction->store(sum, stored, elements);
    for (char *target : targets)
      std::memcpy(target + at * bytes, reduction->store ? stored : sum, size_t(elements * bytes));
  }
}

} // namespace p3d
