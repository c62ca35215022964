// Which einsums cuBLASLt takes, and how.
#include "runtime/Cuda/MatmulForm.h"
#include "test/unit/runtime/Cuda/EinsumPlans.h"
#include <gtest/gtest.h>

using namespace p3d;

namespace {

TEST(MatmulForm, RowMajorIsTheTransposedProduct) {
  std::optional<MatmulForm> form = matmulForm(dense(2, 3, 5));
  ASSERT_TRUE(form);
  EXPECT_TRUE(form->isSwapped);
  EXPECT_EQ(form->m, 3);
  EXPECT_EQ(form->n, 2);
  EXPECT_EQ(form->k, 5);
  EXPECT_FALSE(form->transposesFirst);
  EXPECT_FALSE(form->transposesSecond);
  EXPECT_EQ(form->firstLeading, 3);
  EXPECT_EQ(form->secondLeading, 5);
  EXPECT_EQ(form->resultLeading, 3);
  EXPECT_EQ(form->batch, 1);
}

TEST(MatmulForm, TransposedOperands) {
  p3d_einsum_plan plan = dense(2, 3, 5);
  plan.aM = 1, plan.aK = 2, plan.bK = 1, plan.bN = 5;
  std::optional<MatmulForm> form = matmulForm(plan);
  ASSERT_TRUE(form);
  EXPECT_TRUE(form->transposesFirst);
  EXPECT_TRUE(form->transposesSecond);
  EXPECT_EQ(form->firstLeading, 5);
  EXPECT_EQ(form->secondLeading, 2);
}

TEST(MatmulForm, TheLongestLoopIsTheBatch) {
  p3d_einsum_plan plan = dense(4, 4, 4);
  plan.aM = 4 * 7, plan.bK = 4 * 7, plan.cM = 4 * 7; // [b, s, h, d]
  addLoop(plan, 3, 4 * 4 * 7, 4 * 4 * 7, 4 * 4 * 7);
  addLoop(plan, 7, 4, 4, 4);
  std::optional<MatmulForm> form = matmulForm(plan);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->batch, 7);
  EXPECT_EQ(form->resultStride, 4);
  ASSERT_EQ(form->outer.count, 1);
  EXPECT_EQ(form->outer.loops[0].extent, 3);
}

TEST(MatmulForm, WhatNeedsTheKernel) {
  p3d_einsum_plan noUnit = dense(2, 3, 5);
  noUnit.aM = 10, noUnit.aK = 2;
  EXPECT_FALSE(matmulForm(noUnit));
  p3d_einsum_plan summed = dense(4, 4, 4);
  addLoop(summed, 3, 100, 200, 0);
  EXPECT_FALSE(matmulForm(summed));
  p3d_einsum_plan many = dense(4, 4, 4);
  addLoop(many, 40, 1000, 2000, 5000);
  addLoop(many, 41, 10, 3000000, 7000000);
  EXPECT_FALSE(matmulForm(many));
  EXPECT_FALSE(matmulForm(dense(4, 4, 0)));
}

} // namespace
