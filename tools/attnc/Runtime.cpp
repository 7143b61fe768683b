//===- Runtime.cpp - attnc runtime ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;

static constexpr llvm::StringLiteral examples = R"(
A library of `attnc compile` holds Halide's runtime, 100 KB and more. A program with many of
them links it once: compile each with --no-runtime, and add this library. It works with all
libraries of the same version of attnc's interface and the same architecture and system,
whatever their CPU features; with another version the program doesn't link.

Examples:
  attnc runtime -o out               out/libattnc_runtime.a, its CMake package and .pc
  attnc runtime -o out --target arm-64-linux
  attnc compile spec.mlir -o out --no-runtime
  cc -Iout main.c out/libNAME.a out/libattnc_runtime.a -lm -lpthread -ldl
)";

static LogicalResult runRuntime() {
  return writeRuntime(RuntimeInvocation{targetName, outputDir, !noCache});
}

const Command commands::runtime = {runtimeCommand(), runRuntime, examples};
