//===- ScalarTest.cpp - numbers in the kernels that are built -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Builds constants in an empty module.
class ScalarTest : public testing::Test {
protected:
  ScalarTest() { context.loadDialect<arith::ArithDialect>(); }

  template <typename T>
  int64_t getInteger(T number) {
    APInt constant;
    Scalar scalar = Scalar::constant(builder, builder.getI64Type(), number);
    EXPECT_TRUE(matchPattern(Value(scalar), m_ConstantInt(&constant)));
    return constant.getSExtValue();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  ImplicitLocOpBuilder builder =
      ImplicitLocOpBuilder::atBlockEnd(module->getLoc(), module->getBody());
};

TEST_F(ScalarTest, IntegersKeepAllBits) {
  for (int64_t number : {int64_t(1) << 53 | 1, INT64_MAX, INT64_MIN, int64_t(-3)})
    EXPECT_EQ(getInteger(number), number);
}

TEST_F(ScalarTest, FloatsTakeBoth) {
  for (Number number : {Number(3), Number(3.0)}) {
    APFloat constant(0.0);
    Scalar scalar = Scalar::constant(builder, builder.getF64Type(), number);
    EXPECT_TRUE(matchPattern(Value(scalar), m_ConstantFloat(&constant)));
    EXPECT_EQ(constant.convertToDouble(), 3.0);
  }
}

} // namespace
