// D = epilogue(alpha op(A) op(B) + beta C), on the host: halves are widened, products and sums are float (double for
// double), and the result is rounded once.
#pragma once
#include "test/emulator/Blas/Descriptors.h"
#include "test/emulator/Driver/Command.h"
#include <string>
#include <vector>

namespace p3d::emulator {

struct Product {
  Description description;
  Layout a, b, c, d;
  const char *aData = nullptr, *bData = nullptr, *cData = nullptr;
  char *dData = nullptr;
  double alpha = 1, beta = 0;                       ///< when they are the host's
  const void *alphaAt = nullptr, *betaAt = nullptr; ///< when they are in device memory
  char *workspace = nullptr;
  size_t workspaceBytes = 0;
  /// A sum by atomic additions of its parts to D: the parts, and the seed of the order in which they come.
  int parts = 1;
  uint64_t partsSeed = 0;

  int64_t m() const { return d.rows; }
  int64_t n() const { return d.columns; }
  int64_t k() const { return description.transA == CUBLAS_OP_N ? a.columns : a.rows; }
  uint32_t epilogue() const { return description.epilogue; }
  cudaDataType biasType() const { return description.biasType < 0 ? d.type : cudaDataType(description.biasType); }
  int64_t biasLength() const { return epilogue() & sumBBit ? n() : m(); }
  /// The layout of the auxiliary matrix, which is that of D but for what the description says.
  Layout auxLayout() const;
};

/// What does not fit together or is not emulated, or nothing.
std::string complaint(const Description &description, const Layout &a, const Layout &b, const Layout &c,
                      const Layout &d);
/// Whether there is an algorithm that adds parts of the sums to D as they come.
bool canSumInPlace(const Description &description, const Layout &a, const Layout &d);
std::string describe(const Product &product);
/// What it reads and writes.
std::vector<Range> rangesOf(const Product &product);
void compute(const Product &product);

} // namespace p3d::emulator
