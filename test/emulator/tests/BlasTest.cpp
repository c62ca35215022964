// The stand-in for cuBLASLt against sums in double precision: types, transposes, orders, batches, epilogues.
#include "test/emulator/Blas/HalfTypes.h"
#include "test/emulator/tests/Driver.h"
#include <cmath>
#include <cstring>
#include <cublasLt.h>
#include <functional>
#include <gtest/gtest.h>

using p3d::emulator::fromBf16;
using p3d::emulator::fromHalf;
using p3d::emulator::toBf16;
using p3d::emulator::toHalf;

struct Blas {
#define CALL(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(symbolOf("libcublasLt.so.13", #name));
  CALL(cublasLtCreate)
  CALL(cublasLtDestroy)
  CALL(cublasLtMatmulDescCreate)
  CALL(cublasLtMatmulDescDestroy)
  CALL(cublasLtMatmulDescSetAttribute)
  CALL(cublasLtMatrixLayoutCreate)
  CALL(cublasLtMatrixLayoutDestroy)
  CALL(cublasLtMatrixLayoutSetAttribute)
  CALL(cublasLtMatmulPreferenceCreate)
  CALL(cublasLtMatmulPreferenceDestroy)
  CALL(cublasLtMatmulPreferenceSetAttribute)
  CALL(cublasLtMatmulAlgoGetHeuristic)
  CALL(cublasLtMatmul)
#undef CALL
  void must(cublasStatus_t status, const char *what) const {
    if (status != CUBLAS_STATUS_SUCCESS) {
      fprintf(stderr, "%s: %d\n", what, int(status));
      exit(1);
    }
  }
};

static size_t bytesOf(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
static double load(cudaDataType type, const void *data, size_t i) {
  switch (int(type)) {
  case CUDA_R_64F:
    return static_cast<const double *>(data)[i];
  case CUDA_R_32F:
    return static_cast<const float *>(data)[i];
  case CUDA_R_16F:
    return fromHalf(static_cast<const uint16_t *>(data)[i]);
  }
  return fromBf16(static_cast<const uint16_t *>(data)[i]);
}
static void store(cudaDataType type, void *data, size_t i, double value) {
  switch (int(type)) {
  case CUDA_R_64F:
    static_cast<double *>(data)[i] = value;
    return;
  case CUDA_R_32F:
    static_cast<float *>(data)[i] = float(value);
    return;
  case CUDA_R_16F:
    static_cast<uint16_t *>(data)[i] = toHalf(float(value));
    return;
  }
  static_cast<uint16_t *>(data)[i] = toBf16(float(value));
}

struct Case {
  int m = 7, n = 5, k = 11, batches = 1;
  bool tA = false, tB = false;
  cudaDataType in = CUDA_R_32F, out = CUDA_R_32F;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL; ///< of A and D
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float alpha = 1, beta = 0;
  int gap = 0; ///< added to each leading dimension
};

/// One matrix in pinned memory: reachable for the host as well.
struct Matrix {
  cudaDataType type;
  cublasLtOrder_t order;
  int rows, columns, ld, batches;
  char *data;
  size_t stride() const { return size_t(ld) * (order == CUBLASLT_ORDER_COL ? columns : rows); }
  size_t at(int batch, int row, int column) const {
    return batch * stride() + (order == CUBLASLT_ORDER_COL ? row + size_t(column) * ld : size_t(row) * ld + column);
  }
  double get(int batch, int row, int column) const { return load(type, data, at(batch, row, column)); }
};

class Products : public Device, public Blas {
public:
  using Blas::must;
  using Device::must;
  CUstream work = stream();
  cublasLtHandle_t handle;
  Products() { MUST(*this, cublasLtCreate(&handle)); }
  ~Products() { MUST(*this, cublasLtDestroy(handle)); }

  Matrix matrix(cudaDataType type, cublasLtOrder_t order, int rows, int columns, int gap, int batches, double seed) {
    Matrix m{type, order, rows, columns, (order == CUBLASLT_ORDER_COL ? rows : columns) + gap, batches, nullptr};
    m.data = host<char>(m.stride() * batches * bytesOf(type));
    for (int batch = 0; batch < batches; ++batch)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
          store(type, m.data, m.at(batch, row, column), std::sin(seed + 1.7 * row - 0.9 * column + 0.3 * batch));
    return m;
  }
  cublasLtMatrixLayout_t layout(const Matrix &m) {
    cublasLtMatrixLayout_t made;
    MUST(*this, cublasLtMatrixLayoutCreate(&made, m.type, m.rows, m.columns, m.ld));
    int32_t order = m.order, batches = m.batches;
    int64_t stride = m.stride();
    MUST(*this, cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
    MUST(*this, cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof(batches)));
    MUST(*this,
         cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
    return made;
  }
  template <typename T> void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, T value) {
    MUST(*this, cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)));
  }
  void check(const Case &c);
};

static double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

void Products::check(const Case &c) {
  bool isDouble = c.in == CUDA_R_64F;
  Matrix a = matrix(c.in, c.order, c.tA ? c.k : c.m, c.tA ? c.m : c.k, c.gap, c.batches, 0.3);
  Matrix b = matrix(c.in, CUBLASLT_ORDER_COL, c.tB ? c.n : c.k, c.tB ? c.k : c.n, c.gap, c.batches, 0.8);
  Matrix d = matrix(c.out, c.order, c.m, c.n, c.gap, c.batches, 1.1),
         before = matrix(c.out, c.order, c.m, c.n, c.gap, c.batches, 1.1);
  // Its columns are a multiple of 8 apart.
  Matrix aux =
      matrix(c.out, c.order, c.m, c.n, 7 - ((c.order == CUBLASLT_ORDER_COL ? c.m : c.n) + 7) % 8, c.batches, 2.2);
  Matrix bias = matrix(c.out, CUBLASLT_ORDER_COL, std::max(c.m, c.n), 1, 0, 1, 2.9);
  cublasLtMatmulDesc_t description;
  MUST(*this, cublasLtMatmulDescCreate(&description, isDouble ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                       isDouble ? CUDA_R_64F : CUDA_R_32F));
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, int32_t(c.tA ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, int32_t(c.tB ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
  set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void *>(bias.data));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void *>(aux.data));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(aux.ld));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, int64_t(aux.stride()));
  Matrix auxBefore = aux, biasBefore = bias;
  std::vector<char> auxCopy(aux.data, aux.data + aux.stride() * c.batches * bytesOf(c.out));
  std::vector<char> biasCopy(bias.data, bias.data + bias.stride() * bytesOf(c.out));
  auxBefore.data = auxCopy.data(), biasBefore.data = biasCopy.data();

  cublasLtMatrixLayout_t la = layout(a), lb = layout(b), ld = layout(d);
  cublasLtMatmulPreference_t preference;
  MUST(*this, cublasLtMatmulPreferenceCreate(&preference));
  uint64_t space = 1 << 20;
  MUST(*this, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space,
                                                   sizeof(space)));
  cublasLtMatmulHeuristicResult_t chosen;
  int found;
  MUST(*this, cublasLtMatmulAlgoGetHeuristic(handle, description, la, lb, ld, ld, preference, 1, &chosen, &found));
  ASSERT_EQ(found, 1);
  CUdeviceptr workspace = allocate(space);
  double alpha64 = c.alpha, beta64 = c.beta;
  const void *alpha = isDouble ? static_cast<const void *>(&alpha64) : &c.alpha;
  const void *beta = isDouble ? static_cast<const void *>(&beta64) : &c.beta;
  MUST(*this,
       cublasLtMatmul(handle, description, alpha, a.data, la, b.data, lb, beta, d.data, ld, d.data, ld, &chosen.algo,
                      reinterpret_cast<void *>(workspace), space, reinterpret_cast<cudaStream_t>(work)));
  MUST(*this, cuStreamSynchronize(work));

  double tolerance = isDouble ? 1e-13 : c.out == CUDA_R_32F ? 2e-5 : c.out == CUDA_R_16F ? 1e-2 : 4e-2;
  std::vector<double> rowSums(c.m);
  for (int batch = 0; batch < c.batches; ++batch)
    for (int row = 0; row < c.m; ++row)
      for (int column = 0; column < c.n; ++column) {
        double value = 0;
        for (int i = 0; i < c.k; ++i)
          value += (c.tA ? a.get(batch, i, row) : a.get(batch, row, i)) *
                   (c.tB ? b.get(batch, column, i) : b.get(batch, i, column));
        value = c.alpha * value + c.beta * before.get(batch, row, column);
        if (c.epilogue & CUBLASLT_EPILOGUE_BIAS)
          value += biasBefore.get(0, row, 0);
        if ((c.epilogue & CUBLASLT_EPILOGUE_GELU_AUX) == CUBLASLT_EPILOGUE_GELU_AUX)
          ASSERT_NEAR(aux.get(batch, row, column), value, tolerance);
        if (c.epilogue & CUBLASLT_EPILOGUE_GELU)
          value = gelu(value);
        if ((c.epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU) {
          double x = auxBefore.get(batch, row, column);
          value *= (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
        }
        ASSERT_NEAR(d.get(batch, row, column), value, tolerance) << row << "," << column << " of " << batch;
        rowSums[row] += value;
      }
  if (c.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
    for (int row = 0; row < c.m; ++row)
      ASSERT_NEAR(bias.get(0, row, 0), rowSums[row], tolerance * 10);
  if (c.epilogue == CUBLASLT_EPILOGUE_BGRADA || c.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    bool isA = c.epilogue == CUBLASLT_EPILOGUE_BGRADA;
    for (int i = 0; i < (isA ? c.m : c.n); ++i) {
      double sum = 0;
      for (int j = 0; j < c.k; ++j)
        sum += isA ? (c.tA ? a.get(0, j, i) : a.get(0, i, j)) : (c.tB ? b.get(0, i, j) : b.get(0, j, i));
      ASSERT_NEAR(bias.get(0, i, 0), sum, tolerance * 10);
    }
  }
  MUST(*this, cublasLtMatmulPreferenceDestroy(preference));
  for (cublasLtMatrixLayout_t each : {la, lb, ld})
    MUST(*this, cublasLtMatrixLayoutDestroy(each));
  MUST(*this, cublasLtMatmulDescDestroy(description));
}

TEST(Blas, TypesAndTransposes) {
  Products products;
  for (auto [in, out] :
       {std::pair(CUDA_R_32F, CUDA_R_32F), std::pair(CUDA_R_64F, CUDA_R_64F), std::pair(CUDA_R_16BF, CUDA_R_16BF),
        std::pair(CUDA_R_16BF, CUDA_R_32F), std::pair(CUDA_R_16F, CUDA_R_16F)})
    for (bool tA : {false, true})
      for (bool tB : {false, true}) {
        Case c;
        c.in = in, c.out = out, c.tA = tA, c.tB = tB, c.gap = 3, c.alpha = 0.5f, c.beta = 1;
        products.check(c);
      }
}

TEST(Blas, OrdersAndBatches) {
  Products products;
  for (cublasLtOrder_t order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW})
    for (bool tA : {false, true}) {
      Case c;
      c.order = order, c.tA = tA, c.batches = 3, c.beta = 2;
      products.check(c);
    }
}

/// Long sums whose parts are added to D.
TEST(Blas, SumsInPlace) {
  Products products;
  for (cudaDataType in : {CUDA_R_32F, CUDA_R_16BF})
    for (bool tA : {false, true})
      for (bool tB : {false, true}) {
        Case c;
        c.k = 50, c.in = in, c.tA = tA, c.tB = tB, c.gap = 2, c.alpha = 0.5f, c.beta = 1, c.batches = 2;
        products.check(c);
      }
}

TEST(Blas, Epilogues) {
  Products products;
  for (uint32_t epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS,
                            CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
                            CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB})
    for (cudaDataType type : {CUDA_R_32F, CUDA_R_16BF})
      for (bool tA : {false, true}) {
        Case c;
        c.epilogue = epilogue, c.in = c.out = type, c.tA = tA;
        products.check(c);
      }
}

TEST(Blas, RefusesWhatDoesNotFit) {
  Products products;
  Matrix a = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 4, 5, 0, 1, 0),
         b = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 6, 3, 0, 1, 0);
  cublasLtMatrixLayout_t la = products.layout(a), lb = products.layout(b);
  cublasLtMatmulDesc_t description;
  MUST(products, cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  float one = 1, zero = 0;
  EXPECT_EQ(products.cublasLtMatmul(products.handle, description, &one, a.data, la, b.data, lb, &zero, a.data, la,
                                    a.data, la, nullptr, nullptr, 0, reinterpret_cast<cudaStream_t>(products.work)),
            CUBLAS_STATUS_INVALID_VALUE);
  MUST(products, cublasLtMatrixLayoutDestroy(la));
  MUST(products, cublasLtMatrixLayoutDestroy(lb));
  MUST(products, cublasLtMatmulDescDestroy(description));
}

/// What an auxiliary matrix has to be aligned to.
TEST(Blas, RefusesAnUnalignedAuxiliaryMatrix) {
  Products products;
  Matrix a = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 4, 4, 0, 1, 0);
  cublasLtMatrixLayout_t layout = products.layout(a);
  cublasLtMatmulDesc_t description;
  MUST(products, cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX);
  float one = 1, zero = 0;
  for (auto [shift, ld, status] :
       {std::tuple(0, 8, CUBLAS_STATUS_SUCCESS), std::tuple(8, 8, CUBLAS_STATUS_INVALID_VALUE),
        std::tuple(0, 4, CUBLAS_STATUS_INVALID_VALUE)}) {
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                 reinterpret_cast<void *>(products.allocate(256) + shift));
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(ld));
    auto *d = reinterpret_cast<void *>(products.allocate(64));
    EXPECT_EQ(products.cublasLtMatmul(products.handle, description, &one, a.data, layout, a.data, layout, &zero, d,
                                      layout, d, layout, nullptr, nullptr, 0,
                                      reinterpret_cast<cudaStream_t>(products.work)),
              status);
  }
  MUST(products, cuStreamSynchronize(products.work));
  MUST(products, cublasLtMatrixLayoutDestroy(layout));
  MUST(products, cublasLtMatmulDescDestroy(description));
}

/// Two products on two streams that have one workspace.
TEST(Blas, ReportsSharedWorkspaces) {
  auto body = [] {
    Products products;
    CUstream streams[] = {products.work, products.stream()};
    CUdeviceptr workspace = products.allocate(4096);
    Matrix a = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 4, 4, 0, 1, 0);
    cublasLtMatrixLayout_t layout = products.layout(a);
    cublasLtMatmulDesc_t description;
    MUST(products, cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    float one = 1, zero = 0;
    for (CUstream stream : streams) {
      auto *d = reinterpret_cast<void *>(products.allocate(64));
      MUST(products, cublasLtMatmul(products.handle, description, &one, a.data, layout, a.data, layout, &zero, d,
                                    layout, d, layout, nullptr, reinterpret_cast<void *>(workspace), 4096,
                                    reinterpret_cast<cudaStream_t>(stream)));
    }
    MUST(products, cuStreamSynchronize(streams[0]));
    MUST(products, cuStreamSynchronize(streams[1]));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(97), "race: \"matmul 4x4x4 float32 to float32\" .* writes what");
}

/// Two products on two streams that keep what their gelu is taken of in one place.
TEST(Blas, ReportsSharedAuxiliaryMatrices) {
  auto body = [] {
    Products products;
    CUstream streams[] = {products.work, products.stream()};
    CUdeviceptr aux = products.allocate(256);
    Matrix a = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 4, 4, 0, 1, 0);
    cublasLtMatrixLayout_t layout = products.layout(a);
    cublasLtMatmulDesc_t description;
    MUST(products, cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX);
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, reinterpret_cast<void *>(aux));
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(8));
    float one = 1, zero = 0;
    for (CUstream stream : streams) {
      auto *d = reinterpret_cast<void *>(products.allocate(64));
      MUST(products, cublasLtMatmul(products.handle, description, &one, a.data, layout, a.data, layout, &zero, d,
                                    layout, d, layout, nullptr, nullptr, 0, reinterpret_cast<cudaStream_t>(stream)));
    }
    MUST(products, cuStreamSynchronize(streams[0]));
    MUST(products, cuStreamSynchronize(streams[1]));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(97), "race: \"matmul 4x4x4 float32 to float32 gelu aux\" .* writes what");
}

/// A vector of sums that is shorter than the matrix.
TEST(Blas, ReportsVectorsOutOfBounds) {
  auto body = [] {
    Products products;
    Matrix a = products.matrix(CUDA_R_32F, CUBLASLT_ORDER_COL, 4, 4, 0, 1, 0);
    cublasLtMatrixLayout_t layout = products.layout(a);
    cublasLtMatmulDesc_t description;
    MUST(products, cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    products.set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
    products.set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void *>(products.allocate(12)));
    float one = 1, zero = 0;
    auto *d = reinterpret_cast<void *>(products.allocate(64));
    MUST(products, cublasLtMatmul(products.handle, description, &one, a.data, layout, a.data, layout, &zero, d, layout,
                                  d, layout, nullptr, nullptr, 0, reinterpret_cast<cudaStream_t>(products.work)));
    MUST(products, cuStreamSynchronize(products.work));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(97), "bgradb\" writes out of bounds");
}

TEST(Blas, HalvesRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = fromHalf(uint16_t(bits));
    if (value == value)
      EXPECT_EQ(toHalf(value), bits);
  }
  EXPECT_EQ(toHalf(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(toHalf(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(toHalf(65520), 0x7c00);
  EXPECT_EQ(toHalf(0x1p-25f), 0);
  EXPECT_EQ(toHalf(0x1.8p-25f), 1);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
