//===- LinkTest.cpp - linking beside a program's own options --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Target/Library/Library.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

using namespace mlir;
namespace cl = llvm::cl;

static cl::SubCommand command("link-test", "");
static cl::opt<int> option("link-test-option", cl::init(1));
static cl::opt<std::string> positional(cl::Positional, cl::sub(command));

TEST(Link, KeepsOptionsOfTheProgram) {
  const char *words[] = {"test", "link-test", "file"};
  ASSERT_TRUE(cl::ParseCommandLineOptions(3, words));
  option = 7;
  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  auto runtime = attn::buildRuntime("x86-64-linux", /*cacheDir=*/"", loc);
  ASSERT_TRUE(succeeded(runtime));
  auto folder = attn::TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  std::string path = (*folder)->file("runtime.so");
  ASSERT_TRUE(succeeded(attn::writeSharedLibrary(*runtime, path, loc)));
  EXPECT_EQ(option, 7);
  EXPECT_EQ(positional, "file");
  EXPECT_EQ(positional.getNumOccurrences(), 1);
}
