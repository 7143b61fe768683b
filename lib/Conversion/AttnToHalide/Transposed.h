//===- Transposed.h - copies with rows in the lanes -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_TRANSPOSED_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_TRANSPOSED_H

#include "PipelineBuilder.h"

namespace mlir::attn {

/// A func with rows in the lanes that reads an element whose columns are contiguous in memory.
/// Where it can, it transposes squares of lanes × lanes elements: vectors take 4 columns of every
/// fourth row, in which rows and columns then change places by shuffles within 128 bits.
class TransposedFunc {
public:
  /// Null.
  TransposedFunc() = default;
  /// `func`, which transposes nothing.
  TransposedFunc(Func func) : func(func) {}
  /// Over `vars`, of which the first two are row and column, of which there are `columns`.
  TransposedFunc(PipelineBuilder &p, int64_t lanes, int64_t columns, StringRef name,
                 ArrayRef<StringRef> vars, Type type, Body element);

  /// Whether it is made of squares.
  bool hasSquares() const { return bool(Value(square)); }
  /// Schedules squares, one at a time, in registers.
  void schedule(PipelineBuilder &p) const;

  Func func;

private:
  int64_t lanes = 0;
  /// Over (c, r, …): the element of row r and column c of a square.
  Func rows;
  /// Over (e, n, w, q, …): the one of row 4n + w and column 4q + e.
  Func quads;
  /// Over (rw, ce, n, cv, rg, q, …): the one of row 4n + 2rg + rw and column 4q + 2cv + ce.
  Func pairs;
  /// Over (r, c, …): the one of row r and column c.
  Func square;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_TRANSPOSED_H
