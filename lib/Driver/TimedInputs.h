//===- TimedInputs.h - inputs of timed calls --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_TIMEDINPUTS_H
#define ATTNC_LIB_DRIVER_TIMEDINPUTS_H

#include "attnc/Execution/Tensor.h"

#include <vector>

namespace attnc {

/// Inputs of calls that are timed. Cold ones are copies in turn that together exceed the caches, so
/// that a call finds none of its inputs there, as in a model whose other layers evict them; of very
/// small inputs, the last-level cache holds all copies.
class TimedInputs {
public:
  TimedInputs() = default;
  TimedInputs(std::vector<Tensor> inputs, bool areCold);

  llvm::ArrayRef<Tensor> getFirst() const { return copies.front(); }
  /// Those of the next call.
  llvm::ArrayRef<Tensor> next() { return copies[++last % copies.size()]; }

private:
  std::vector<std::vector<Tensor>> copies;
  size_t last = 0;
};

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_TIMEDINPUTS_H
