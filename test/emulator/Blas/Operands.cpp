// The operands of a product: what fits together, what it is called, which memory it touches.
#include "test/emulator/Blas/Product.h"
#include <fmt/format.h>

namespace p3d::emulator {

namespace {
struct TypeRow {
  cudaDataType type;
  size_t bytes;
  const char *name;
};
struct EpilogueRow {
  uint32_t epilogue;
  const char *name;
};
} // namespace

static constexpr TypeRow types[] = {
    {CUDA_R_32F, 4, "float32"}, {CUDA_R_64F, 8, "float64"}, {CUDA_R_16F, 2, "float16"}, {CUDA_R_16BF, 2, "bfloat16"}};

static constexpr EpilogueRow epilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, ""},           {CUBLASLT_EPILOGUE_BIAS, " bias"},
    {CUBLASLT_EPILOGUE_GELU, " gelu"},         {CUBLASLT_EPILOGUE_GELU_BIAS, " bias gelu"},
    {CUBLASLT_EPILOGUE_GELU_AUX, " gelu aux"}, {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, " bias gelu aux"},
    {CUBLASLT_EPILOGUE_DGELU, " dgelu"},       {CUBLASLT_EPILOGUE_DGELU_BGRAD, " dgelu bgrad"},
    {CUBLASLT_EPILOGUE_BGRADA, " bgrada"},     {CUBLASLT_EPILOGUE_BGRADB, " bgradb"}};

size_t bytesOf(cudaDataType type) {
  for (const TypeRow &row : types)
    if (row.type == type)
      return row.bytes;
  return 0;
}

const char *nameOf(cudaDataType type) {
  for (const TypeRow &row : types)
    if (row.type == type)
      return row.name;
  return "?";
}

/// Null for one that is not emulated.
static const char *epilogueName(uint32_t epilogue) {
  for (const EpilogueRow &row : epilogues)
    if (row.epilogue == epilogue)
      return row.name;
  return nullptr;
}

static bool writesBias(uint32_t epilogue) { return epilogue & (biasGradientBit | sumABit | sumBBit); }
static bool hasBias(uint32_t epilogue) { return (epilogue & biasBit) || writesBias(epilogue); }

Layout Product::auxLayout() const {
  Layout layout = d;
  layout.ld = description.auxLd;
  layout.batchStride = description.auxBatchStride;
  if (description.auxType >= 0)
    layout.type = cudaDataType(description.auxType);
  return layout;
}

static std::string layoutComplaint(const char *name, const Layout &layout, uint64_t rows, uint64_t columns,
                                   int batches) {
  if (layout.rows != rows || layout.columns != columns)
    return fmt::format("{} is {} x {}, not {} x {}", name, layout.rows, layout.columns, rows, columns);
  if (!bytesOf(layout.type))
    return fmt::format("{} has elements of type {}, which is not emulated", name, int(layout.type));
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW)
    return fmt::format("{} has an order that is not emulated", name);
  if (layout.ld < layout.minimalLd())
    return fmt::format("{} has a leading dimension of {}, less than {}", name, layout.ld, layout.minimalLd());
  if (layout.batches != batches)
    return fmt::format("{} has {} batches, not {}", name, layout.batches, batches);
  return "";
}

static std::string shapeComplaint(const Description &p, const Layout &a, const Layout &b, const Layout &c,
                                  const Layout &d) {
  bool tA = p.transA != CUBLAS_OP_N, tB = p.transB != CUBLAS_OP_N;
  uint64_t m = d.rows, n = d.columns, k = tA ? a.rows : a.columns;
  for (auto &text : {layoutComplaint("A", a, tA ? k : m, tA ? m : k, d.batches),
                     layoutComplaint("B", b, tB ? n : k, tB ? k : n, d.batches),
                     layoutComplaint("C", c, m, n, d.batches), layoutComplaint("D", d, m, n, d.batches)})
    if (!text.empty())
      return text;
  return "";
}

std::string complaint(const Description &p, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  std::string text = shapeComplaint(p, a, b, c, d);
  if (!text.empty())
    return text;
  bool isDouble = a.type == CUDA_R_64F;
  if (a.type != b.type || (d.type == CUDA_R_64F) != isDouble || c.type != d.type)
    return fmt::format("types {}, {}, {}, {} do not go together", nameOf(a.type), nameOf(b.type), nameOf(c.type),
                       nameOf(d.type));
  if (p.scaleType != (isDouble ? CUDA_R_64F : CUDA_R_32F))
    return "the scale type is not that of the computation";
  if (p.pointerMode != CUBLASLT_POINTER_MODE_HOST && p.pointerMode != CUBLASLT_POINTER_MODE_DEVICE)
    return "the pointer mode is not emulated";
  if (!epilogueName(p.epilogue))
    return fmt::format("the epilogue {} is not emulated", p.epilogue);
  if (hasBias(p.epilogue) && !p.bias)
    return "the epilogue needs a bias pointer";
  if ((p.epilogue & auxBit) && (!p.aux || p.auxLd < d.minimalLd()))
    return "the epilogue needs an auxiliary pointer and its leading dimension";
  if ((p.epilogue & auxBit) && (p.auxLd % 8 || reinterpret_cast<uintptr_t>(p.aux) % 16))
    return "the auxiliary matrix is not at a multiple of 16 bytes with a leading dimension that is a multiple of 8";
  return "";
}

bool canSumInPlace(const Description &p, const Layout &a, const Layout &d) {
  constexpr uint64_t shortest = 32;
  return p.epilogue == CUBLASLT_EPILOGUE_DEFAULT && d.type == CUDA_R_32F &&
         (p.transA == CUBLAS_OP_N ? a.columns : a.rows) >= shortest;
}

std::string describe(const Product &p) {
  std::string batches = p.d.batches > 1 ? fmt::format(" x{}", p.d.batches) : "";
  return fmt::format("matmul {}x{}x{}{} {} to {}{}", p.m(), p.n(), p.k(), batches, nameOf(p.a.type), nameOf(p.d.type),
                     epilogueName(p.epilogue()));
}

static void addRanges(std::vector<Range> &ranges, const void *data, const Layout &layout, bool isWrite) {
  size_t size = bytesOf(layout.type);
  bool isColumns = layout.order == CUBLASLT_ORDER_COL;
  size_t piece = (isColumns ? layout.rows : layout.columns) * size, count = isColumns ? layout.columns : layout.rows;
  int batches = layout.batchStride ? layout.batches : 1;
  for (int batch = 0; batch < batches; ++batch) {
    const char *at = static_cast<const char *>(data) + batch * layout.batchStride * int64_t(size);
    if (layout.ld == layout.minimalLd())
      ranges.push_back({at, piece * count, piece * count, 1, isWrite});
    else
      ranges.push_back({at, piece, layout.ld * size, count, isWrite});
  }
}

std::vector<Range> rangesOf(const Product &p) {
  std::vector<Range> ranges;
  const Description &d = p.description;
  addRanges(ranges, p.aData, p.a, false);
  addRanges(ranges, p.bData, p.b, false);
  if (p.beta != 0 || p.betaAt)
    addRanges(ranges, p.cData, p.c, false);
  addRanges(ranges, p.dData, p.d, true);
  if (hasBias(d.epilogue)) {
    Layout bias{p.biasType(),   CUBLASLT_ORDER_COL, uint64_t(p.biasLength()), 1,
                p.biasLength(), p.d.batches,        d.biasBatchStride};
    addRanges(ranges, d.bias, bias, writesBias(d.epilogue));
  }
  if (d.epilogue & auxBit)
    addRanges(ranges, d.aux, p.auxLayout(), (d.epilogue & geluBit) != 0);
  for (const void *scalar : {p.alphaAt, p.betaAt})
    if (scalar)
      ranges.push_back(reads(scalar, bytesOf(d.scaleType)));
  if (p.workspaceBytes)
    ranges.push_back(writes(p.workspace, p.workspaceBytes));
  return ranges;
}

} // namespace p3d::emulator
