// p3d_einsum and p3d_einsum_epilogue on a device: cuBLASLt where it can express the plan, else the kernel for any
// strides; epilogues in the same call where cuBLASLt has them, else by kernels after the product.
#pragma once
#include "kernels/CudaKernels.h"
#include "runtime/Cuda/CublasLt.h"
#include "runtime/Cuda/MatmulEpilogue.h"
#include <map>
#include <memory>
#include <tuple>

namespace p3d {

class Einsum {
public:
  /// Calls go to `stream`; what has no form for cuBLASLt to `launcher`.
  Einsum(p3d_launcher *launcher, CUstream stream);
  ~Einsum();

  /// Scratch memory for products, at a multiple of 256 bytes, before the first one; else there is some of its own.
  void useWorkspace(CUdeviceptr memory, int64_t bytes);
  /// Whether parts of a sum of f32 may be added to the result as they come, in another order on every run. Not so at
  /// first.
  void allowAtomics(bool areAllowed) { atomics = areAllowed; }

  /// Arguments as in Kernels.h, on the device. A plan is known by its address, its way is chosen at its first call.
  void run(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
           bool accumulates, const ProductEpilogue &epilogue = {});
  /// Products that cuBLASLt was asked for since the start.
  int64_t products() const { return asked; }

private:
  struct Matmul;
  struct Call {
    const p3d_einsum_plan *plan;
    int32_t dtype, cDtype;
    const void *a, *b;
    void *c;
    bool accumulates;
  };
  /// Powers of two that the addresses of a, b and c are multiples of.
  struct Alignment {
    uint32_t a, b, c;
  };
  using Key = std::tuple<const p3d_einsum_plan *, int32_t, int32_t, uint32_t, uint32_t, uint32_t, uint32_t, int32_t>;

  /// How cuBLASLt does the call with the epilogue, chosen once; null if it cannot.
  const Matmul *find(const Call &call, const ProductEpilogue &epilogue);
  std::unique_ptr<Matmul> choose(const Call &call, const ProductEpilogue &epilogue);
  static void describe(Matmul &matmul, cudaDataType_t type, cudaDataType_t resultType);
  static void describeEpilogue(Matmul &matmul, cublasLtEpilogue_t which, cudaDataType_t resultType);
  static void pointEpilogue(const Matmul &matmul, const void *vector, const void *aux);
  /// Whether there is an algorithm for operands with this alignment.
  bool chooseAlgorithm(Matmul &matmul, Alignment alignment);
  void multiply(const Matmul &matmul, const Call &call, const ProductEpilogue &epilogue);
  void multiplyOne(const Matmul &matmul, const char *a, const char *b, char *c, bool accumulates);
  void runPlain(const Call &call);
  void runByKernels(const Call &call, const ProductEpilogue &epilogue);

  int64_t asked = 0;
  p3d_launcher *launcher;
  CUstream stream;
  bool atomics = false;
  BlasHandle handle;
  DeviceMemory ownWorkspace;
  CUdeviceptr workspace = 0, sums = 0; ///< of cuBLASLt; behind it, sums that a kernel adds to what is there
  int64_t workspaceBytes = 0;
  std::map<Key, std::unique_ptr<Matmul>> chosen; ///< null: by the kernel
};

} // namespace p3d
