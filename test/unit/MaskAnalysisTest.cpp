//===- MaskAnalysisTest.cpp - bounds of masks as data ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/MaskAnalysis.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::attn;
using P = arith::CmpIPredicate;
using Kind = MaskCondition::Kind;

namespace {
/// Reads masks written as the ops of their regions.
class MaskAnalysisTest : public testing::Test {
protected:
  MaskAnalysisTest() {
    context
        .loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect, tensor::TensorDialect>();
  }

  MaskAnalysis analyse(StringRef ops) {
    std::string text = ("func.func @f(%s: tensor<1x2x8x8xf32>, %n: tensor<1xi32>) {\n"
                        "  %m = attn.mask %s {\n"
                        "  ^bb0(%b: index, %h: index, %q: index, %k: index):\n"
                        "    %two = arith.constant 2 : index\n" +
                        ops +
                        "    attn.yield %seen : i1\n"
                        "  } : tensor<1x2x8x8xf32>\n"
                        "  return\n}\n")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    MaskOp mask;
    module->walk([&](MaskOp op) { mask = op; });
    return MaskAnalysis(mask.getBody());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(MaskAnalysisTest, BoundsKeysByRowsAndRowsByKeys) {
  MaskAnalysis mask = analyse("    %last = arith.addi %q, %two : index\n"
                              "    %seen = arith.cmpi sle, %k, %last : index\n");
  const MaskCondition &condition = mask.getCondition();
  ASSERT_EQ(condition.kind, Kind::comparison);
  // k <= q + 2
  auto key = condition.boundKey();
  ASSERT_TRUE(key);
  EXPECT_EQ(key->predicate, P::sle);
  EXPECT_EQ(key->slope, -1);
  EXPECT_TRUE(key->isUpper() && !key->isLower() && !key->isStrict());
  // q >= k - 2
  auto row = condition.boundRow();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->predicate, P::sge);
  EXPECT_EQ(row->slope, -1);
  EXPECT_TRUE(row->isLower() && !row->isUpper());
  EXPECT_TRUE(mask.isComplete());
  EXPECT_FALSE(mask.getWidth());
}

TEST_F(MaskAnalysisTest, BoundsOneCoordinateAlone) {
  MaskAnalysis mask = analyse("    %x = tensor.extract %n[%b] : tensor<1xi32>\n"
                              "    %len = arith.index_cast %x : i32 to index\n"
                              "    %seen = arith.cmpi sgt, %len, %k : index\n");
  EXPECT_TRUE(mask.getCondition().boundKey()->isStrict());
  EXPECT_FALSE(mask.getCondition().boundRow());
  EXPECT_TRUE(mask.getCondition().hasHighestKey());
  EXPECT_FALSE(mask.getCondition().hasLowestKey());
}

TEST_F(MaskAnalysisTest, JoinsConditions) {
  StringRef sides = "    %x = arith.cmpi sle, %k, %q : index\n"
                    "    %first = arith.subi %q, %two : index\n"
                    "    %y = arith.cmpi sge, %k, %first : index\n";
  MaskAnalysis both = analyse((sides + "    %seen = arith.andi %x, %y : i1\n").str());
  EXPECT_EQ(both.getCondition().kind, Kind::both);
  EXPECT_TRUE(both.isConjunction() && both.isComplete());
  EXPECT_TRUE(both.getCondition().hasLowestKey() && both.getCondition().hasHighestKey());
  EXPECT_EQ(both.getWidth(), 3);
  EXPECT_EQ(both.getWidth(/*rows=*/16), 18);

  MaskAnalysis either = analyse((sides + "    %seen = arith.ori %x, %y : i1\n").str());
  EXPECT_EQ(either.getCondition().kind, Kind::either);
  EXPECT_FALSE(either.isConjunction());
  EXPECT_TRUE(either.isComplete());
  EXPECT_FALSE(either.getCondition().hasLowestKey() || either.getCondition().hasHighestKey());
  EXPECT_FALSE(either.getWidth());
}

TEST_F(MaskAnalysisTest, LeavesTheRestOpaque) {
  MaskAnalysis product = analyse("    %x = arith.muli %k, %q : index\n"
                                 "    %seen = arith.cmpi sle, %x, %two : index\n");
  EXPECT_EQ(product.getCondition().kind, Kind::opaque);
  EXPECT_FALSE(product.isComplete());
  // Of twice a key nothing is read, nor of keys that a row may not equal.
  MaskAnalysis twice = analyse("    %x = arith.addi %k, %k : index\n"
                               "    %seen = arith.cmpi sle, %x, %q : index\n");
  EXPECT_FALSE(twice.getCondition().boundKey());
  EXPECT_TRUE(twice.getCondition().boundRow());
  EXPECT_FALSE(twice.isComplete());
  MaskAnalysis other = analyse("    %seen = arith.cmpi ne, %k, %q : index\n");
  EXPECT_FALSE(other.getCondition().boundKey());
}
