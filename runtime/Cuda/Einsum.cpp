#include "runtime/Cuda/Einsum.h"
#include "runtime/DType.h"
#include <algorithm>

namespace p3d {

/// Of the workspace, for the sums of a product.
static constexpr int64_t sumsBytes = 1 << 20;
/// Where the caller gives none.
static constexpr int64_t ownWorkspaceBytes = (32 << 20) + sumsBytes;

struct Einsum::Matmul {
  MatmulForm form;
  int64_t elementBytes, resultBytes; ///< of one element
  MatmulDescription description;
  MatrixLayout first, second, result;
  bool hasEpilogue;
  cublasLtMatmulAlgo_t algorithm;
};

Einsum::Einsum(p3d_launcher *launcher, CUstream stream) : launcher(launcher), stream(stream) {}
Einsum::~Einsum() = default;

void Einsum::useWorkspace(CUdeviceptr memory, int64_t bytes) {
  workspace = memory, workspaceBytes = std::max<int64_t>(0, bytes - sumsBytes);
  sums = memory + CUdeviceptr(workspaceBytes);
}

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
  if (atomics && matmul.resultBytes == 4 && !matmul.hasEpilogue)
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

static void setPointer(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which, const void *pointer) {
  P3D_BLASLT(cublasLtMatmulDescSetAttribute, description, which, &pointer, sizeof(pointer));
}

void Einsum::pointEpilogue(const Matmul &matmul, const void *vector, const void *aux) {
  setPointer(matmul.description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  setPointer(matmul.description.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
}

void Einsum::describeEpilogue(Matmul &matmul, cublasLtEpilogue_t which, cudaDataType_t resultType) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    P3D_BLASLT(cublasLtMatmulDescSetAttribute, matmul.description.get(), attribute, &value, sizeof(value));
  };
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, which);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t(resultType));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, matmul.form.resultLeading);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, matmul.form.resultStride);
}

std::unique_ptr<Einsum::Matmul> Einsum::choose(const Call &call, const ProductEpilogue &epilogue) {
  std::optional<cudaDataType_t> type = typeOf(call.dtype), resultType = typeOf(call.cDtype);
  std::optional<MatmulForm> form = matmulForm(*call.plan);
  if (!form || !type || !resultType || (call.cDtype != call.dtype && call.cDtype != P3D_F32))
    return nullptr;
  auto matmul = std::make_unique<Matmul>();
  matmul->form = *form, matmul->hasEpilogue = epilogue.kind != 0;
  matmul->elementBytes = info(p3d_dtype(call.dtype)).bytes, matmul->resultBytes = info(p3d_dtype(call.cDtype)).bytes;
  std::optional<cublasLtEpilogue_t> which = CUBLASLT_EPILOGUE_DEFAULT;
  if (epilogue.kind)
    which = matmulEpilogue(*form, epilogue, matmul->resultBytes);
  if (epilogue.addsSums && epilogue.count * 4 > sumsBytes)
    which = std::nullopt;
  if (!which)
    return nullptr;
  if (!handle) {
    cublasLtHandle_t created;
    P3D_BLASLT(cublasLtCreate, &created);
    handle = BlasHandle(created);
    if (!workspace) {
      ownWorkspace = allocateDevice(ownWorkspaceBytes, "workspace");
      useWorkspace(ownWorkspace.get(), ownWorkspaceBytes);
    }
  }
  describe(*matmul, *type, *resultType);
  if (epilogue.kind) {
    describeEpilogue(*matmul, *which, *resultType);
    pointEpilogue(*matmul, epilogue.bias ? epilogue.bias : epilogue.sums, epilogue.aux);
  }
  bool isPossible = chooseAlgorithm(*matmul, {alignmentOf(call.a, *form, &LoopNest::Loop::a, matmul->elementBytes),
                                              alignmentOf(call.b, *form, &LoopNest::Loop::b, matmul->elementBytes),
                                              alignmentOf(call.c, *form, &LoopNest::Loop::c, matmul->resultBytes)});
  return isPossible ? std::move(matmul) : nullptr;
}

static uint32_t lowBits(const void *address) {
  uint64_t bits = reinterpret_cast<uint64_t>(address) | 16;
  return uint32_t(bits & -bits);
}

const Einsum::Matmul *Einsum::find(const Call &call, const ProductEpilogue &epilogue) {
  // An algorithm may need the alignment that it was chosen for.
  int32_t variant = epilogue.kind << 3 | (epilogue.aux ? 4 : 0) | (epilogue.sums ? 2 : 0) | (epilogue.addsSums ? 1 : 0);
  Key key{call.plan,       call.dtype,      call.cDtype,           lowBits(call.a),
          lowBits(call.b), lowBits(call.c), lowBits(epilogue.aux), variant};
  auto found = chosen.find(key);
  if (found == chosen.end())
    found = chosen.emplace(key, choose(call, epilogue)).first;
  return found->second.get();
}

void Einsum::multiplyOne(const Matmul &matmul, const char *a, const char *b, char *c, bool accumulates) {
  ++asked;
  float alpha = 1, beta = accumulates ? 1 : 0;
  const char *first = matmul.form.isSwapped ? b : a, *second = matmul.form.isSwapped ? a : b;
  P3D_BLASLT(cublasLtMatmul, handle.get(), matmul.description.get(), &alpha, first, matmul.first.get(), second,
             matmul.second.get(), &beta, c, matmul.result.get(), c, matmul.result.get(), &matmul.algorithm,
             reinterpret_cast<void *>(workspace), size_t(workspaceBytes), stream);
}

void Einsum::multiply(const Matmul &matmul, const Call &call, const ProductEpilogue &epilogue) {
  const void *vector = epilogue.bias ? epilogue.bias : epilogue.sums;
  void *added = epilogue.addsSums ? reinterpret_cast<void *>(sums) : nullptr;
  matmul.form.outer.forEach([&](LoopNest::Offsets at) {
    if (epilogue.kind)
      pointEpilogue(matmul, added ? added : vector,
                    epilogue.aux ? static_cast<char *>(epilogue.aux) + at.c * matmul.resultBytes : nullptr);
    multiplyOne(matmul, static_cast<const char *>(call.a) + at.a * matmul.elementBytes,
                static_cast<const char *>(call.b) + at.b * matmul.elementBytes,
                static_cast<char *>(call.c) + at.c * matmul.resultBytes, call.accumulates);
  });
  if (added)
    p3d_cuda_sum_partials(launcher, stream, call.cDtype, static_cast<float *>(added), 1, epilogue.count, epilogue.sums,
                          true);
}

void Einsum::runPlain(const Call &call) {
  if (const Matmul *matmul = find(call, {}))
    return multiply(*matmul, call, {});
  p3d_cuda_einsum(launcher, stream, call.plan, call.dtype, call.cDtype, call.a, call.b, call.c, call.accumulates);
}

void Einsum::runByKernels(const Call &call, const ProductEpilogue &epilogue) {
  int64_t results = call.plan->m * call.plan->n, summed = call.plan->k, count = epilogue.count;
  for (int32_t l = 0; l < call.plan->loopCount; ++l)
    (call.plan->cLoop[l] ? results : summed) *= call.plan->extent[l];
  int64_t rows = results / std::max<int64_t>(1, count);
  auto sum = [&](int32_t dtype, const void *x, int64_t xRows) {
    p3d_cuda_sum_rows(launcher, stream, dtype, call.cDtype, x, epilogue.sums, xRows, count, epilogue.addsSums);
  };
  Call plain = call;
  if (epilogue.kind == P3D_EPILOGUE_BIAS_GELU && epilogue.aux)
    plain.c = epilogue.aux;
  runPlain(plain);
  switch (p3d_epilogue(epilogue.kind)) {
  case P3D_EPILOGUE_BIAS:
    return p3d_cuda_add_bias(launcher, stream, call.cDtype, call.c, epilogue.bias, call.c, rows, count);
  case P3D_EPILOGUE_BIAS_GELU:
    if (epilogue.aux)
      p3d_cuda_add_bias(launcher, stream, call.cDtype, epilogue.aux, epilogue.bias, epilogue.aux, rows, count);
    return p3d_cuda_bias_gelu(launcher, stream, call.cDtype, call.cDtype, plain.c,
                              epilogue.aux ? nullptr : epilogue.bias, call.c, rows, count, false);
  case P3D_EPILOGUE_GELU_GRAD:
    p3d_cuda_bias_gelu_grad(launcher, stream, call.cDtype, call.cDtype, call.c, epilogue.aux, nullptr, call.c, nullptr,
                            rows, count, false);
    return epilogue.sums ? sum(call.cDtype, call.c, rows) : void();
  case P3D_EPILOGUE_SUM_A:
    return sum(call.dtype, call.a, summed);
  case P3D_EPILOGUE_SUM_B:
    return sum(call.dtype, call.b, summed);
  }
}

void Einsum::run(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
                 bool accumulates, const ProductEpilogue &epilogue) {
  Call call{plan, dtype, cDtype, a, b, c, accumulates};
  if (!epilogue.kind)
    return runPlain(call);
  if (const Matmul *matmul = find(call, epilogue))
    return multiply(*matmul, call, epilogue);
  runByKernels(call, epilogue);
}

} // namespace p3d
