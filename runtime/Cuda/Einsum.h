// p3d_einsum on a device: cuBLASLt where it can express the plan, else the kernel for any strides.
#pragma once
#include "kernels/CudaKernels.h"
#include "runtime/Cuda/CublasLt.h"
#include "runtime/Cuda/MatmulForm.h"
#include <map>
#include <memory>
#include <tuple>

namespace p3d {

class Einsum {
public:
  /// Calls go to `stream`; what has no form for cuBLASLt to `launcher`.
  Einsum(p3d_launcher *launcher, CUstream stream);
  ~Einsum();

  /// Whether parts of a sum of f32 may be added to the result as they come, in another order on every run. Not so at
  /// first.
  void allowAtomics(bool areAllowed) { atomics = areAllowed; }

  /// Arguments as in Kernels.h, on the device. A plan is known by its address, its way is chosen at its first call.
  void run(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
           bool accumulates);

private:
  struct Matmul;
  /// Powers of two that the addresses of a, b and c are multiples of.
  struct Alignment {
    uint32_t a, b, c;
  };
  using Key = std::tuple<const p3d_einsum_plan *, int32_t, int32_t, uint32_t, uint32_t, uint32_t>;

  std::unique_ptr<Matmul> choose(const p3d_einsum_plan &plan, int32_t dtype, int32_t cDtype, const void *a,
                                 const void *b, const void *c);
  static void describe(Matmul &matmul, cudaDataType_t type, cudaDataType_t resultType);
  /// Whether there is an algorithm for operands with this alignment.
  bool chooseAlgorithm(Matmul &matmul, Alignment alignment);
  void multiply(const Matmul &matmul, const char *a, const char *b, char *c, bool accumulates);

  p3d_launcher *launcher;
  CUstream stream;
  bool atomics = false;
  BlasHandle handle;
  DeviceMemory workspace;
  std::map<Key, std::unique_ptr<Matmul>> chosen; ///< null: by the kernel
};

} // namespace p3d
