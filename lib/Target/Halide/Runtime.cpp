//===- Runtime.cpp - Halide's runtime embedded in attnc -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runtime.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

/// The output of EmbedRuntime.cpp.
static constexpr unsigned char x86Runtime[] = {
#include "runtime-x86-64-linux.o.inc"
};
static constexpr unsigned char armRuntime[] = {
#include "runtime-arm-64-linux.o.inc"
};

template <size_t size>
static llvm::StringRef toString(const unsigned char (&bytes)[size]) {
  return llvm::StringRef(reinterpret_cast<const char *>(bytes), size);
}

llvm::StringRef halide::findRuntime(llvm::StringRef target) {
  return llvm::StringSwitch<llvm::StringRef>(target)
      .Case("x86-64-linux-user_context", toString(x86Runtime))
      .Case("arm-64-linux-user_context", toString(armRuntime))
      .Default("");
}
