#include "runtime/Cuda/Einsum.h"
#include "runtime/DType.h"
#include <algorithm>

namespace p3d {

/// What NVIDIA recommends for the largest devices; the smaller ones ask for less.
static constexpr int64_t workspaceBytes = 32 << 20;

struct Einsum::Matmul {
  MatmulForm form;
  int64_t elementBytes, resultBytes; ///< of one element
  MatmulDescription description;
  MatrixLayout first, second, result;
  cublasLtMatmulAlgo_t algorithm;
};

Einsum::Einsum(p3d_launcher *launcher, CUstream stream) : launcher(launcher), stream(stream) {}
Einsum::~Einsum() = default;

static std::optional<cudaDataType_t> typeOf(int32_t dtype) {
  if (dtype == P3D_F32)
    return CUDA_R_32F;
  if (dtype == P3D_BF16)
    return CUDA_R_16BF;
  if (dtype == P3D_F16)
    return CUDA_R_16F;
  return std::nullopt;
}

static MatrixLayout makeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading, int64_t batch,
                               int64_t stride) {
  cublasLtMatrixLayout_t layout;
  P3D_BLASLT(cublasLtMatrixLayoutCreate, &layout, type, uint64_t(rows), uint64_t(columns), leading);
  MatrixLayout owner(layout);
  int32_t count = int32_t(batch);
  P3D_BLASLT(cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
  P3D_BLASLT(cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
             sizeof(stride));
  return owner;
}

static void transpose(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which, bool isTransposed) {
  cublasOperation_t operation = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  P3D_BLASLT(cublasLtMatmulDescSetAttribute, description, which, &operation, sizeof(operation));
}

/// The largest power of two, up to 16, that the address and every step of the loops are multiples of.
static uint32_t alignmentOf(const void *address, const MatmulForm &form, int64_t LoopNest::Loop::*step,
                            int64_t elementBytes) {
  uint64_t bits = reinterpret_cast<uint64_t>(address) | 16;
  for (int32_t l = 0; l < form.outer.count; ++l)
    bits |= uint64_t(form.outer.loops[l].*step * elementBytes);
  return uint32_t(bits & -bits);
}

bool Einsum::chooseAlgorithm(Matmul &matmul, Alignment alignment) {
  cublasLtMatmulPreference_t preference;
  P3D_BLASLT(cublasLtMatmulPreferenceCreate, &preference);
  MatmulPreference owner(preference);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    P3D_BLASLT(cublasLtMatmulPreferenceSetAttribute, preference, which, &value, sizeof(value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(workspaceBytes));
  // Parts of a sum meet in f32 and are rounded once; in the result itself only where that is f32.
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (atomics && matmul.resultBytes == 4)
    schemes |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  bool isSwapped = matmul.form.isSwapped;
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, isSwapped ? alignment.b : alignment.a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, isSwapped ? alignment.a : alignment.b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.c);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  cublasStatus_t status = cublasLt().cublasLtMatmulAlgoGetHeuristic(
      handle.get(), matmul.description.get(), matmul.first.get(), matmul.second.get(), matmul.result.get(),
      matmul.result.get(), preference, 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
    return false;
  checkCublasLt(status, "cublasLtMatmulAlgoGetHeuristic");
  matmul.algorithm = found.algo;
  return true;
}

void Einsum::describe(Matmul &matmul, cudaDataType_t type, cudaDataType_t resultType) {
  // f32 is f32: TF32 would be another compute type.
  cublasLtMatmulDesc_t description;
  P3D_BLASLT(cublasLtMatmulDescCreate, &description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  matmul.description = MatmulDescription(description);
  const MatmulForm &form = matmul.form;
  bool first = form.transposesFirst, second = form.transposesSecond;
  transpose(description, CUBLASLT_MATMUL_DESC_TRANSA, first);
  transpose(description, CUBLASLT_MATMUL_DESC_TRANSB, second);
  matmul.first = makeLayout(type, first ? form.k : form.m, first ? form.m : form.k, form.firstLeading, form.batch,
                            form.firstStride);
  matmul.second = makeLayout(type, second ? form.n : form.k, second ? form.k : form.n, form.secondLeading, form.batch,
                             form.secondStride);
  matmul.result = makeLayout(resultType, form.m, form.n, form.resultLeading, form.batch, form.resultStride);
}

std::unique_ptr<Einsum::Matmul> Einsum::choose(const p3d_einsum_plan &plan, int32_t dtype, int32_t cDtype,
                                               const void *a, const void *b, const void *c) {
  std::optional<cudaDataType_t> type = typeOf(dtype), resultType = typeOf(cDtype);
  std::optional<MatmulForm> form = matmulForm(plan);
  if (!form || !type || !resultType || (cDtype != dtype && cDtype != P3D_F32))
    return nullptr;
  if (!handle) {
    cublasLtHandle_t created;
    P3D_BLASLT(cublasLtCreate, &created);
    handle = BlasHandle(created);
    workspace = allocateDevice(workspaceBytes, "workspace");
  }
  auto matmul = std::make_unique<Matmul>();
  matmul->form = *form;
  matmul->elementBytes = info(p3d_dtype(dtype)).bytes, matmul->resultBytes = info(p3d_dtype(cDtype)).bytes;
  describe(*matmul, *type, *resultType);
  bool isPossible = chooseAlgorithm(*matmul, {alignmentOf(a, *form, &LoopNest::Loop::a, matmul->elementBytes),
                                              alignmentOf(b, *form, &LoopNest::Loop::b, matmul->elementBytes),
                                              alignmentOf(c, *form, &LoopNest::Loop::c, matmul->resultBytes)});
  return isPossible ? std::move(matmul) : nullptr;
}

void Einsum::multiply(const Matmul &matmul, const char *a, const char *b, char *c, bool accumulates) {
  float alpha = 1, beta = accumulates ? 1 : 0;
  const char *first = matmul.form.isSwapped ? b : a, *second = matmul.form.isSwapped ? a : b;
  P3D_BLASLT(cublasLtMatmul, handle.get(), matmul.description.get(), &alpha, first, matmul.first.get(), second,
             matmul.second.get(), &beta, c, matmul.result.get(), c, matmul.result.get(), &matmul.algorithm,
             reinterpret_cast<void *>(workspace.get()), size_t(workspaceBytes), stream);
}

static uint32_t lowBits(const void *address) {
  uint64_t bits = reinterpret_cast<uint64_t>(address) | 16;
  return uint32_t(bits & -bits);
}

void Einsum::run(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
                 bool accumulates) {
  // An algorithm may need the alignment that it was chosen for.
  Key key{plan, dtype, cDtype, lowBits(a), lowBits(b), lowBits(c)};
  auto found = chosen.find(key);
  if (found == chosen.end())
    found = chosen.emplace(key, choose(*plan, dtype, cDtype, a, b, c)).first;
  const Matmul *matmul = found->second.get();
  if (!matmul)
    return p3d_cuda_einsum(launcher, stream, plan, dtype, cDtype, a, b, c, accumulates);
  matmul->form.outer.forEach([&](LoopNest::Offsets at) {
    multiply(*matmul, static_cast<const char *>(a) + at.a * matmul->elementBytes,
             static_cast<const char *>(b) + at.b * matmul->elementBytes,
             static_cast<char *>(c) + at.c * matmul->resultBytes, accumulates);
  });
}

} // namespace p3d
