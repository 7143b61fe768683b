//===- EmbedRuntime.cpp - compile Halide's runtime at build time ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the runtime of a CPU as an object that attnc embeds: compiling it takes as long as a small
// kernel.
//
//===----------------------------------------------------------------------===//

#include "Halide.h"

#include <cstdio>

int main(int count, char **arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s TARGET OBJECT\n", arguments[0]);
    return 2;
  }
  // The module of the runtime has no functions.
  Halide::Module("runtime", Halide::Target(arguments[1]))
      .compile({{Halide::OutputFileType::object, arguments[2]}});
  return 0;
}
