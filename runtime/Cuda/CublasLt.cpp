#include "runtime/Cuda/CublasLt.h"

namespace p3d {

static CublasLt openCublasLt() {
  SharedLibrary library("libcublasLt.so.13",
                        "it comes with the CUDA 13 toolkit; programs for --target=cuda need it for "
                        "matrix products");
  CublasLt table{};
#define P3D_FIND(name) table.name = reinterpret_cast<decltype(&::name)>(library.need(P3D_CALL_NAME(name)));
  P3D_CUBLASLT_CALLS(P3D_FIND)
#undef P3D_FIND
  return table;
}

const CublasLt &cublasLt() {
  static const CublasLt table = openCublasLt();
  return table;
}

void checkCublasLt(cublasStatus_t status, const char *call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    deviceError("{}: {}", call, cublasLt().cublasLtGetStatusString(status));
}

void destroyBlas(cublasLtHandle_t handle) noexcept { (void)cublasLt().cublasLtDestroy(handle); }
void destroyMatmul(cublasLtMatmulDesc_t matmul) noexcept { (void)cublasLt().cublasLtMatmulDescDestroy(matmul); }
void destroyLayout(cublasLtMatrixLayout_t layout) noexcept { (void)cublasLt().cublasLtMatrixLayoutDestroy(layout); }
void destroyPreference(cublasLtMatmulPreference_t preference) noexcept {
  (void)cublasLt().cublasLtMatmulPreferenceDestroy(preference);
}

} // namespace p3d
