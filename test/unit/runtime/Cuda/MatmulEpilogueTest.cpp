// Which epilogues are cuBLASLt's, and which are left to kernels after the product.
#include "runtime/Cuda/MatmulEpilogue.h"
#include "test/unit/runtime/Cuda/EinsumPlans.h"
#include <gtest/gtest.h>

using namespace p3d;

namespace {

alignas(16) char memory[64];

std::optional<cublasLtEpilogue_t> epilogueOf(const p3d_einsum_plan &plan, ProductEpilogue epilogue,
                                             int64_t resultBytes = 4) {
  return matmulEpilogue(matmulForm(plan).value(), epilogue, resultBytes);
}

TEST(MatmulEpilogue, BiasesLieAlongTheRowsOfTheResult) {
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_BIAS, 16, memory}), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_BIAS, 8, memory}), std::nullopt);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_BIAS_GELU, 16, memory}), CUBLASLT_EPILOGUE_GELU_BIAS);
  p3d_einsum_plan transposed = dense(24, 6, 5);
  transposed.cM = 1, transposed.cN = 24;
  EXPECT_EQ(epilogueOf(transposed, {P3D_EPILOGUE_BIAS, 24, memory}), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(epilogueOf(transposed, {P3D_EPILOGUE_BIAS, 6, memory}), std::nullopt);
}

TEST(MatmulEpilogue, AuxiliaryMatricesAreAligned) {
  auto gelu = [](int64_t columns, char *aux) {
    return epilogueOf(dense(5, columns, 7), {P3D_EPILOGUE_BIAS_GELU, columns, memory, aux});
  };
  EXPECT_EQ(gelu(16, memory), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(gelu(16, memory + 8), std::nullopt);
  EXPECT_EQ(gelu(12, memory), std::nullopt);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_GELU_GRAD, 16, nullptr, memory}), CUBLASLT_EPILOGUE_DGELU);
}

TEST(MatmulEpilogue, SumsAreOfOneMatrix) {
  ProductEpilogue gradient{P3D_EPILOGUE_GELU_GRAD, 16, nullptr, memory, memory};
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), gradient), CUBLASLT_EPILOGUE_DGELU_BGRAD);
  p3d_einsum_plan batch = dense(4, 16, 5);
  addLoop(batch, 3, 20, 80, 64);
  EXPECT_EQ(epilogueOf(batch, gradient), std::nullopt);
  // c is D transposed, so that its a is the second matrix.
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_SUM_A, 5, nullptr, nullptr, memory}), CUBLASLT_EPILOGUE_BGRADB);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_SUM_B, 16, nullptr, nullptr, memory}), CUBLASLT_EPILOGUE_BGRADA);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), {P3D_EPILOGUE_SUM_B, 8, nullptr, nullptr, memory}), std::nullopt);
}

TEST(MatmulEpilogue, SumsOf16BitsAreNotAddedTo) {
  ProductEpilogue sum{P3D_EPILOGUE_SUM_B, 16, nullptr, nullptr, memory, true};
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), sum, 4), CUBLASLT_EPILOGUE_BGRADA);
  EXPECT_EQ(epilogueOf(dense(5, 16, 7), sum, 2), std::nullopt);
}

} // namespace
