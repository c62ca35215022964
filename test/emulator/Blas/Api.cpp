// The calls of cuBLASLt that the runtime makes.
#include "test/emulator/Blas/Product.h"
#include "test/emulator/Driver/Exit.h"
#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Driver/Settings.h"
#include <atomic>
#include <cstring>
#include <fmt/format.h>

using namespace p3d::emulator;

/// What the heuristic's one algorithm asks for, if it may have it: enough to show two products that share a workspace.
static constexpr size_t wantedWorkspace = 4096;

/// The parts of a sum that meet in D.
static constexpr int atomicParts = 4;

struct cublasLtContext {};

static cublasStatus_t refuse(cublasStatus_t status, const std::string &text) {
  fmt::print(stderr, "emulator: cublasLt: {}\n", text);
  return status;
}

static Layout &layoutOf(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<Layout *>(handle); }
static Description &descriptionOf(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<Description *>(handle); }
static Preference &preferenceOf(cublasLtMatmulPreference_t handle) { return *reinterpret_cast<Preference *>(handle); }

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t *handle) {
  if (currentDevice() < 0)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  countOwned("cublasLt handle", 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle)
    return CUBLAS_STATUS_INVALID_VALUE;
  delete handle;
  countOwned("cublasLt handle", -1);
  return CUBLAS_STATUS_SUCCESS;
}

size_t CUBLASWINAPI cublasLtGetVersion() { return CUBLAS_VERSION; }

const char *CUBLASWINAPI cublasLtGetStatusName(cublasStatus_t status) {
  static const std::pair<cublasStatus_t, const char *> names[] = {
      {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS"},
      {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED"},
      {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE"},
      {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED"},
      {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"}};
  for (auto [value, name] : names)
    if (value == status)
      return name;
  return "unknown status";
}
const char *CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

// ---------------------------------------------------------------------------------------------- descriptors

/// Copies an attribute's value into its field, if the sizes agree.
template <typename Field> static cublasStatus_t setField(Field &field, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(Field))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  fmt::format("an attribute of {} bytes is set with {}", sizeof(Field), value ? bytes : 0));
  memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                                       uint64_t columns, int64_t ld) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, CUBLASLT_ORDER_COL, rows, columns, ld, 1, 0});
  countOwned("matrix layout", 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &layoutOf(layout);
  countOwned("matrix layout", -1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                             cublasLtMatrixLayoutAttribute_t attribute,
                                                             const void *value, size_t bytes) {
  Layout &layout = layoutOf(handle);
  switch (int(attribute)) {
  case CUBLASLT_MATRIX_LAYOUT_TYPE:
    return setField(layout.type, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return setField(layout.order, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ROWS:
    return setField(layout.rows, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_COLS:
    return setField(layout.columns, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return setField(layout.ld, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return setField(layout.batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return setField(layout.batchStride, value, bytes);
  }
  return refuse(CUBLAS_STATUS_NOT_SUPPORTED, fmt::format("matrix layout attribute {} is not emulated", int(attribute)));
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description, cublasComputeType_t compute,
                                                     cudaDataType_t scaleType) {
  auto *made = new Description{compute,
                               scaleType,
                               CUBLASLT_POINTER_MODE_HOST,
                               CUBLAS_OP_N,
                               CUBLAS_OP_N,
                               CUBLASLT_EPILOGUE_DEFAULT,
                               nullptr,
                               -1,
                               0,
                               nullptr,
                               -1,
                               0,
                               0};
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  countOwned("matmul description", 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete &descriptionOf(description);
  countOwned("matmul description", -1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                                           cublasLtMatmulDescAttributes_t attribute, const void *value,
                                                           size_t bytes) {
  Description &description = descriptionOf(handle);
  switch (int(attribute)) {
  case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    return setField(description.compute, value, bytes);
  case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    return setField(description.scaleType, value, bytes);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return setField(description.pointerMode, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return setField(description.transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return setField(description.transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return setField(description.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return setField(description.bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return setField(description.biasType, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return setField(description.biasBatchStride, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return setField(description.aux, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
    return setField(description.auxType, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return setField(description.auxLd, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
    return setField(description.auxBatchStride, value, bytes);
  }
  return refuse(CUBLAS_STATUS_NOT_SUPPORTED, fmt::format("matmul attribute {} is not emulated", int(attribute)));
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference{0, CUBLASLT_REDUCTION_SCHEME_MASK});
  countOwned("matmul preference", 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &preferenceOf(preference);
  countOwned("matmul preference", -1);
  return CUBLAS_STATUS_SUCCESS;
}
/// Alignments only steer the choice among algorithms, of which there are two: with one sum, and with one in parts.
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                 cublasLtMatmulPreferenceAttributes_t attribute,
                                                                 const void *value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return setField(preferenceOf(preference).workspaceBytes, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return setField(preferenceOf(preference).reductionSchemes, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// --------------------------------------------------------------------------------------------------- matmul

/// Seeds the order in which parts of the next product come; 0 without random delays.
static uint64_t nextOrder() {
  static std::atomic<uint64_t> products{0};
  uint64_t number = ++products;
  return settings().seed ? settings().seed * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u : 0;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                           cublasLtMatmulPreference_t preference, int wanted,
                                                           cublasLtMatmulHeuristicResult_t results[], int *found) {
  *found = 0;
  if (wanted < 1 || !preference)
    return CUBLAS_STATUS_INVALID_VALUE;
  // Which pointers there will be is seen when the product is made.
  alignas(16) static char somewhere;
  Description checked = descriptionOf(description);
  checked.bias = checked.aux = &somewhere;
  std::string text = complaint(checked, layoutOf(a), layoutOf(b), layoutOf(c), layoutOf(d));
  if (!text.empty())
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, text);
  cublasLtMatmulHeuristicResult_t &result = results[0];
  memset(&result, 0, sizeof(result));
  result.workspaceSize = std::min<size_t>(wantedWorkspace, preferenceOf(preference).workspaceBytes);
  result.algo.data[0] = result.workspaceSize;
  bool sumsInPlace = (preferenceOf(preference).reductionSchemes & CUBLASLT_REDUCTION_SCHEME_INPLACE) &&
                     canSumInPlace(checked, layoutOf(a), layoutOf(d));
  result.algo.data[1] = sumsInPlace ? atomicParts : 1;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                                           const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
                                           cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
                                           cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,
                                           const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes,
                                           cudaStream_t stream) {
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  Product p{descriptionOf(description), layoutOf(aLayout), layoutOf(bLayout), layoutOf(cLayout), layoutOf(dLayout)};
  std::string text = complaint(p.description, p.a, p.b, p.c, p.d);
  if (!text.empty())
    return refuse(CUBLAS_STATUS_INVALID_VALUE, text);
  size_t needed = algo ? algo->data[0] : workspaceBytes;
  if (needed > workspaceBytes || (needed && !workspace))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  fmt::format("the algorithm needs a workspace of {} bytes, not {}", needed, workspaceBytes));
  p.aData = static_cast<const char *>(a), p.bData = static_cast<const char *>(b);
  p.cData = static_cast<const char *>(c), p.dData = static_cast<char *>(d);
  p.workspace = static_cast<char *>(workspace), p.workspaceBytes = needed;
  p.parts = algo ? int(algo->data[1]) : 1;
  p.partsSeed = nextOrder();
  bool isDouble = p.description.scaleType == CUDA_R_64F;
  auto scalar = [&](const void *at) {
    return isDouble ? *static_cast<const double *>(at) : double(*static_cast<const float *>(at));
  };
  if (p.description.pointerMode == CUBLASLT_POINTER_MODE_HOST)
    p.alpha = scalar(alpha), p.beta = scalar(beta);
  else
    p.alphaAt = alpha, p.betaAt = beta;
  Command command;
  command.kind = "matmul";
  command.label = describe(p);
  command.ranges = rangesOf(p);
  command.run = [p](const Running &) { compute(p); };
  bool isQueued = enqueue(reinterpret_cast<CUstream>(stream), std::move(command)) == CUDA_SUCCESS;
  return isQueued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
