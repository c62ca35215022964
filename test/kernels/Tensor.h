// Tensors of any floating element type for the kernel tests, seeded inputs, and the comparison with a reference.
#pragma once
#include "test/kernels/Buffer.h"
#include "test/kernels/Tolerances.h"
#include <string>
#include <vector>

namespace p3dtest {

inline const std::vector<int32_t> floatTypes = {P3D_F32, P3D_BF16, P3D_F16};
std::string nameOf(int32_t dtype);

/// A tensor as a kernel sees it. Outputs are made full of NaN, so that what a kernel leaves out shows.
class Tensor {
public:
  Tensor(int32_t dtype, int64_t count);
  Tensor(int32_t dtype, const std::vector<double> &values);
  void *data() { return bytes.data(); }
  const void *data() const { return bytes.data(); }
  float *floats() { return reinterpret_cast<float *>(bytes.data()); }
  /// The values as the element type holds them.
  std::vector<double> values() const;

  int32_t dtype;

private:
  Buffer<unsigned char> bytes;
};

/// Seeded values with no symmetry: a mean that is not 0, a slope along the index, a few large ones; a swapped index, a
/// missing row or a wrong stride shows.
std::vector<double> skewed(int64_t count, unsigned seed, double size = 1);

/// Each element within the tolerance (times `slack`); infinities and NaN must be the same. Fails with the worst.
void expectClose(const std::vector<double> &got, const std::vector<double> &want, Tolerance tolerance,
                 const std::string &what, double slack = 1);
/// The same with the tolerance of `dtype`.
void expectClose(const std::vector<double> &got, const std::vector<double> &want, int32_t dtype,
                 const std::string &what, double slack = 1);

} // namespace p3dtest
