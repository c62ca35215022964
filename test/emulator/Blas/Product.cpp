#include "test/emulator/Blas/Product.h"
#include "kernels/cpu/Blas.h"
#include "test/emulator/Blas/HalfTypes.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace p3d::emulator {

/// As many streams as there are may multiply at once.
[[maybe_unused]] static const bool blasHasOneThread = (shareOutThreadsAboveBlas(), true);

static double load(cudaDataType type, const char *data, int64_t index) {
  switch (int(type)) {
  case CUDA_R_32F:
    return reinterpret_cast<const float *>(data)[index];
  case CUDA_R_64F:
    return reinterpret_cast<const double *>(data)[index];
  case CUDA_R_16F:
    return fromHalf(reinterpret_cast<const uint16_t *>(data)[index]);
  }
  return fromBf16(reinterpret_cast<const uint16_t *>(data)[index]);
}

static void store(cudaDataType type, char *data, int64_t index, double value) {
  switch (int(type)) {
  case CUDA_R_32F:
    reinterpret_cast<float *>(data)[index] = float(value);
    return;
  case CUDA_R_64F:
    reinterpret_cast<double *>(data)[index] = value;
    return;
  case CUDA_R_16F:
    reinterpret_cast<uint16_t *>(data)[index] = toHalf(float(value));
    return;
  }
  reinterpret_cast<uint16_t *>(data)[index] = toBf16(float(value));
}

/// The matrix by columns, without gaps.
template <typename T> static std::vector<T> widen(const Layout &layout, const char *data) {
  std::vector<T> result(layout.rows * layout.columns);
  for (uint64_t column = 0; column < layout.columns; ++column)
    for (uint64_t row = 0; row < layout.rows; ++row)
      result[row + column * layout.rows] = T(load(layout.type, data, layout.offsetOf(row, column)));
  return result;
}

static void multiply(CBLAS_TRANSPOSE tA, CBLAS_TRANSPOSE tB, int m, int n, int k, float alpha, const float *a, int lda,
                     const float *b, int ldb, float *d) {
  cblas_sgemm(CblasColMajor, tA, tB, m, n, k, alpha, a, lda, b, ldb, 0, d, m);
}
static void multiply(CBLAS_TRANSPOSE tA, CBLAS_TRANSPOSE tB, int m, int n, int k, double alpha, const double *a,
                     int lda, const double *b, int ldb, double *d) {
  cblas_dgemm(CblasColMajor, tA, tB, m, n, k, alpha, a, lda, b, ldb, 0, d, m);
}

/// The tanh form, which is cuBLASLt's.
static constexpr double geluScale = 0.7978845608028654, geluCubic = 0.044715;
static double gelu(double x) { return 0.5 * x * (1 + std::tanh(geluScale * (x + geluCubic * x * x * x))); }
static double geluGradient(double x) {
  double t = std::tanh(geluScale * (x + geluCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * geluScale * (1 + 3 * geluCubic * x * x);
}

namespace {

/// One batch.
template <typename T> class BatchProduct {
public:
  BatchProduct(const Product &p, int batch, T alpha, T beta)
      : p(p), auxiliary(p.auxLayout()), alpha(alpha), beta(beta) {
    auto at = [&](const void *data, cudaDataType type, int64_t stride) {
      return data ? static_cast<const char *>(data) + batch * stride * int64_t(bytesOf(type)) : nullptr;
    };
    const Description &d = p.description;
    aData = at(p.aData, p.a.type, p.a.batchStride);
    bData = at(p.bData, p.b.type, p.b.batchStride);
    cData = at(p.cData, p.c.type, p.c.batchStride);
    dData = const_cast<char *>(at(p.dData, p.d.type, p.d.batchStride));
    bias = const_cast<char *>(at(d.bias, p.biasType(), d.biasBatchStride));
    aux = const_cast<char *>(at(d.aux, auxiliary.type, d.auxBatchStride));
  }

  void run() {
    auto operation = [](int32_t trans) { return trans == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; };
    std::vector<T> a = widen<T>(p.a, aData), b = widen<T>(p.b, bData), result(p.m() * p.n());
    if (p.parts > 1)
      return addParts(a, b);
    multiply(operation(p.description.transA), operation(p.description.transB), p.m(), p.n(), p.k(), alpha, a.data(),
             std::max<uint64_t>(1, p.a.rows), b.data(), std::max<uint64_t>(1, p.b.rows), result.data());
    std::vector<T> rowSums(p.m());
    for (int64_t column = 0; column < p.n(); ++column)
      for (int64_t row = 0; row < p.m(); ++row) {
        T value = finish(result[row + column * p.m()], row, column);
        store(p.d.type, dData, p.d.offsetOf(row, column), value);
        rowSums[row] += value;
      }
    if (p.epilogue() & biasGradientBit)
      for (int64_t row = 0; row < p.m(); ++row)
        store(p.biasType(), bias, row, rowSums[row]);
    if (p.epilogue() & sumABit)
      sumOperand(a, p.a.rows, p.description.transA == CUBLAS_OP_N);
    if (p.epilogue() & sumBBit)
      sumOperand(b, p.b.rows, p.description.transB != CUBLAS_OP_N);
  }

private:
  /// D = beta C, to which the parts of the sums are added one by one, each rounded to D's float.
  void addParts(const std::vector<T> &a, const std::vector<T> &b) {
    bool byRowA = p.description.transA == CUBLAS_OP_N, byRowB = p.description.transB != CUBLAS_OP_N;
    std::vector<int> order(p.parts);
    std::iota(order.begin(), order.end(), 0);
    if (p.partsSeed)
      std::shuffle(order.begin(), order.end(), std::mt19937_64(p.partsSeed));
    for (int64_t column = 0; column < p.n(); ++column)
      for (int64_t row = 0; row < p.m(); ++row) {
        float sum = beta == 0 ? 0 : float(beta * T(load(p.c.type, cData, p.c.offsetOf(row, column))));
        for (int part : order) {
          T added = 0;
          for (int64_t i = p.k() * part / p.parts; i < p.k() * (part + 1) / p.parts; ++i)
            added += (byRowA ? a[row + i * p.a.rows] : a[i + row * p.a.rows]) *
                     (byRowB ? b[column + i * p.b.rows] : b[i + column * p.b.rows]);
          sum += float(alpha * added);
        }
        store(p.d.type, dData, p.d.offsetOf(row, column), sum);
      }
  }

  /// What becomes of an element of alpha op(A) op(B).
  T finish(T value, int64_t row, int64_t column) {
    int64_t auxAt = auxiliary.offsetOf(row, column);
    if (beta != 0)
      value += beta * T(load(p.c.type, cData, p.c.offsetOf(row, column)));
    if (p.epilogue() & biasBit)
      value += T(load(p.biasType(), bias, row));
    if ((p.epilogue() & geluBit) && (p.epilogue() & auxBit))
      store(auxiliary.type, aux, auxAt, value);
    if (p.epilogue() & geluBit)
      value = T(gelu(value));
    if (p.epilogue() & geluGradientBit)
      value = T(value * geluGradient(load(auxiliary.type, aux, auxAt)));
    return value;
  }

  /// Sums over k of a widened operand with `rows` rows, for each of its rows or each of its columns.
  void sumOperand(const std::vector<T> &wide, int64_t rows, bool byRow) {
    for (int64_t i = 0; i < p.biasLength(); ++i) {
      T sum = 0;
      for (int64_t j = 0; j < p.k(); ++j)
        sum += byRow ? wide[i + j * rows] : wide[j + i * rows];
      store(p.biasType(), bias, i, sum);
    }
  }

  const Product &p;
  Layout auxiliary;
  T alpha, beta;
  const char *aData, *bData, *cData;
  char *dData, *bias, *aux;
};

} // namespace

template <typename T> static void computeAs(const Product &p) {
  T alpha = p.alphaAt ? *static_cast<const T *>(p.alphaAt) : T(p.alpha);
  T beta = p.betaAt ? *static_cast<const T *>(p.betaAt) : T(p.beta);
  for (int batch = 0; batch < p.d.batches; ++batch)
    BatchProduct<T>(p, batch, alpha, beta).run();
}

void compute(const Product &p) {
  if (p.workspaceBytes)
    memset(p.workspace, 0xff, p.workspaceBytes);
  if (p.a.type == CUDA_R_64F)
    computeAs<double>(p);
  else
    computeAs<float>(p);
}

} // namespace p3d::emulator
