//===- Kernel.h - compile and call a pipeline from a test -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TEST_UNIT_KERNEL_H
#define ATTNC_TEST_UNIT_KERNEL_H

#include "HalideBuffer.h"

#include <string>
#include <vector>

namespace attnc::test {

/// The first pipeline of an IR text, compiled; where that is for the host also linked
/// into a shared object and loaded.
class Kernel {
public:
  explicit Kernel(const std::string &ir, const std::string &target = "host");
  ~Kernel();

  /// Why it did not compile: "line: message" of every error, one a line; empty if it did.
  const std::string &errors() const { return diagnostics; }

  /// The lowered statement, where it compiled.
  const std::string &stmt() const { return lowered; }

  /// Calls it; the status Halide gave.
  int operator()(std::vector<halide_buffer_t *> buffers) const;

private:
  std::string diagnostics, lowered, folder;
  void *library = nullptr;
  int (*function)(void **) = nullptr;
};

/// A file's text.
std::string readFile(const std::string &path);

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_KERNEL_H
