// cuBLASLt: the calls that the runtime makes, found in libcublasLt.so.13 when the first is needed.
#pragma once
#include "runtime/Cuda/Owners.h"
#include <cublasLt.h>

// The one list of calls.
#define P3D_CUBLASLT_CALLS(CALL)                                                                                       \
  CALL(cublasLtCreate)                                                                                                 \
  CALL(cublasLtDestroy)                                                                                                \
  CALL(cublasLtMatmul)                                                                                                 \
  CALL(cublasLtMatmulAlgoGetHeuristic)                                                                                 \
  CALL(cublasLtMatmulDescCreate)                                                                                       \
  CALL(cublasLtMatmulDescSetAttribute)                                                                                 \
  CALL(cublasLtMatmulDescDestroy)                                                                                      \
  CALL(cublasLtMatrixLayoutCreate)                                                                                     \
  CALL(cublasLtMatrixLayoutSetAttribute)                                                                               \
  CALL(cublasLtMatrixLayoutDestroy)                                                                                    \
  CALL(cublasLtMatmulPreferenceCreate)                                                                                 \
  CALL(cublasLtMatmulPreferenceSetAttribute)                                                                           \
  CALL(cublasLtMatmulPreferenceDestroy)                                                                                \
  CALL(cublasLtGetStatusString)

namespace p3d {

struct CublasLt {
#define P3D_DECLARE(name) decltype(&::name) name;
  P3D_CUBLASLT_CALLS(P3D_DECLARE)
#undef P3D_DECLARE
};

/// cuBLASLt, opened at the first call; a DeviceError without it.
const CublasLt &cublasLt();

/// Throws a DeviceError that names `call`, unless `status` is success.
void checkCublasLt(cublasStatus_t status, const char *call);

void destroyBlas(cublasLtHandle_t handle) noexcept;
void destroyMatmul(cublasLtMatmulDesc_t matmul) noexcept;
void destroyLayout(cublasLtMatrixLayout_t layout) noexcept;
void destroyPreference(cublasLtMatmulPreference_t preference) noexcept;
using BlasHandle = Owner<cublasLtHandle_t, destroyBlas>;
using MatmulDescription = Owner<cublasLtMatmulDesc_t, destroyMatmul>;
using MatrixLayout = Owner<cublasLtMatrixLayout_t, destroyLayout>;
using MatmulPreference = Owner<cublasLtMatmulPreference_t, destroyPreference>;

} // namespace p3d

/// Makes a call of cuBLASLt and throws if it fails.
#define P3D_BLASLT(call, ...) ::p3d::checkCublasLt(::p3d::cublasLt().call(__VA_ARGS__), #call)
