// What cuBLASLt's descriptors hold here. A handle points to one of these.
#pragma once
#include <cstdint>
#include <cublasLt.h>

namespace p3d::emulator {

struct Layout {
  cudaDataType type;
  cublasLtOrder_t order;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batches;
  int64_t batchStride; ///< in elements

  int64_t minimalLd() const { return order == CUBLASLT_ORDER_COL ? rows : columns; }
  /// The element's place in its batch.
  int64_t offsetOf(int64_t row, int64_t column) const {
    return order == CUBLASLT_ORDER_COL ? row + column * ld : row * ld + column;
  }
};

struct Description {
  cublasComputeType_t compute;
  cudaDataType scaleType;
  int32_t pointerMode, transA, transB;
  uint32_t epilogue;
  void *bias;
  int32_t biasType; ///< -1: that of D
  int64_t biasBatchStride;
  void *aux;
  int32_t auxType; ///< -1: that of D
  int64_t auxLd, auxBatchStride;
};

struct Preference {
  uint64_t workspaceBytes;
  uint32_t reductionSchemes; ///< those that an algorithm may use
};

/// The bits of which epilogues are made (cublasLtEpilogue_t).
inline constexpr uint32_t biasBit = 4, biasGradientBit = 16, geluBit = 32, geluGradientBit = 64, auxBit = 128,
                          sumABit = 256, sumBBit = 512;

/// 0 for a type that is not emulated.
size_t bytesOf(cudaDataType type);
const char *nameOf(cudaDataType type);

} // namespace p3d::emulator
