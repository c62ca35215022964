#include "runtime/Cuda/MatmulEpilogue.h"

namespace p3d {

/// The auxiliary matrix lies like the result: in columns whose number of elements is a multiple of 8, at multiples of
/// 16 bytes.
static bool isAuxAligned(const MatmulForm &form, const void *aux, int64_t elementBytes) {
  constexpr uint64_t addressBytes = 16, leadingElements = 8;
  uint64_t bits = reinterpret_cast<uint64_t>(aux) | uint64_t(form.resultStride * elementBytes);
  for (int32_t l = 0; l < form.outer.count; ++l)
    bits |= uint64_t(form.outer.loops[l].c * elementBytes);
  return bits % addressBytes == 0 && uint64_t(form.resultLeading) % leadingElements == 0;
}

std::optional<cublasLtEpilogue_t> matmulEpilogue(const MatmulForm &form, const ProductEpilogue &epilogue,
                                                 int64_t resultBytes) {
  bool isAlongRows = epilogue.count == form.m; // c's last dimensions are rows of the column-major result
  bool isOneMatrix = form.batch == 1 && form.outer.count == 0;
  // What is added to is summed in scratch memory first, in f32.
  bool canSum = isOneMatrix && (!epilogue.addsSums || resultBytes == 4);
  bool canAux = !epilogue.aux || isAuxAligned(form, epilogue.aux, resultBytes);
  switch (p3d_epilogue(epilogue.kind)) {
  case P3D_EPILOGUE_BIAS:
    if (isAlongRows)
      return CUBLASLT_EPILOGUE_BIAS;
    break;
  case P3D_EPILOGUE_BIAS_GELU:
    if (isAlongRows && canAux)
      return epilogue.aux ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
    break;
  case P3D_EPILOGUE_GELU_GRAD:
    if (canAux && !epilogue.sums)
      return CUBLASLT_EPILOGUE_DGELU;
    if (canAux && canSum && isAlongRows)
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    break;
  case P3D_EPILOGUE_SUM_A:
  case P3D_EPILOGUE_SUM_B: {
    bool isFirst = (epilogue.kind == P3D_EPILOGUE_SUM_A) != form.isSwapped;
    if (canSum && epilogue.count == (isFirst ? form.m : form.n))
      return isFirst ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
    break;
  }
  }
  return std::nullopt;
}

} // namespace p3d
