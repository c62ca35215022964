#include "test/emulator/Nccl/Reduction.h"
#include "test/emulator/Blas/HalfTypes.h"
#include <algorithm>

namespace p3d::emulator {

namespace {
struct Row {
  ncclDataType_t type;
  size_t bytes;
  const char *name;
};
} // namespace

static const Row types[] = {
    {ncclInt8, 1, "int8"},         {ncclUint8, 1, "uint8"},     {ncclInt32, 4, "int32"},
    {ncclUint32, 4, "uint32"},     {ncclInt64, 8, "int64"},     {ncclUint64, 8, "uint64"},
    {ncclFloat16, 2, "float16"},   {ncclFloat32, 4, "float32"}, {ncclFloat64, 8, "float64"},
    {ncclBfloat16, 2, "bfloat16"},
};

size_t bytesOf(ncclDataType_t type) {
  for (const Row &row : types)
    if (row.type == type)
      return row.bytes;
  return 0;
}

std::string nameOf(ncclDataType_t type) {
  for (const Row &row : types)
    if (row.type == type)
      return row.name;
  return "type " + std::to_string(int(type));
}

static const char *const opNames[] = {"sum", "prod", "max", "min", "avg"};

bool isKnown(ncclRedOp_t op) { return op >= ncclSum && op <= ncclAvg; }
std::string nameOf(ncclRedOp_t op) { return isKnown(op) ? opNames[op] : "op " + std::to_string(int(op)); }

namespace {
/// An element as it is stored, and the type in which it is computed.
template <typename T> struct Plain {
  using Stored = T;
  using Compute = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct Half {
  using Stored = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return fromHalf(bits); }
  static uint16_t store(float value) { return toHalf(value); }
};
struct BFloat16 {
  using Stored = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return fromBf16(bits); }
  static uint16_t store(float value) { return toBf16(value); }
};
} // namespace

template <typename T> static T combine(ncclRedOp_t op, T a, T b) {
  return op == ncclProd ? a * b : op == ncclMax ? std::max(a, b) : op == ncclMin ? std::min(a, b) : a + b;
}

template <typename Format>
static void reduceAs(ncclRedOp_t op, const std::vector<const char *> &sources, char *target, size_t count) {
  using Stored = typename Format::Stored;
  for (size_t i = 0; i < count; ++i) {
    auto value = Format::load(reinterpret_cast<const Stored *>(sources[0])[i]);
    for (size_t rank = 1; rank < sources.size(); ++rank)
      value = combine(op, value, Format::load(reinterpret_cast<const Stored *>(sources[rank])[i]));
    if (op == ncclAvg)
      value = value / typename Format::Compute(sources.size());
    reinterpret_cast<Stored *>(target)[i] = Format::store(value);
  }
}

void reduceInOrder(ncclDataType_t type, ncclRedOp_t op, const std::vector<const char *> &sources, char *target,
                   size_t count) {
  auto as = [&](auto format) { reduceAs<decltype(format)>(op, sources, target, count); };
  switch (int(type)) {
  case ncclInt8:
    return as(Plain<int8_t>());
  case ncclUint8:
    return as(Plain<uint8_t>());
  case ncclInt32:
    return as(Plain<int32_t>());
  case ncclUint32:
    return as(Plain<uint32_t>());
  case ncclInt64:
    return as(Plain<int64_t>());
  case ncclUint64:
    return as(Plain<uint64_t>());
  case ncclFloat16:
    return as(Half());
  case ncclFloat32:
    return as(Plain<float>());
  case ncclFloat64:
    return as(Plain<double>());
  case ncclBfloat16:
    return as(BFloat16());
  }
}

} // namespace p3d::emulator
