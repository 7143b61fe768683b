//===- Sizes.h - sizes of symbols --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_SIZES_H
#define ATTNC_EXECUTION_SIZES_H

#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Spec/Signature.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace attnc {

/// Sizes of symbols, as they follow from the shapes of inputs.
class Sizes {
public:
  /// Sets a size beforehand; `source` is named in errors, as in `--size`.
  void set(llvm::StringRef symbol, int64_t size, llvm::StringRef source);
  /// Adds the sizes of an input's shape; errors are at `option`. Fails if the shape contradicts the
  /// parameter or an earlier size.
  llvm::LogicalResult bind(const Parameter &parameter, llvm::ArrayRef<int64_t> shape,
                           llvm::StringRef option);
  /// The parameter's shape; none if a size is unknown.
  std::optional<llvm::SmallVector<int64_t>> getShape(const Parameter &parameter) const;
  std::optional<int64_t> get(llvm::StringRef symbol) const;

private:
  struct Size {
    int64_t size;
    std::string source;
  };
  llvm::StringMap<Size> sizes;
};

/// A size for each symbol, in order.
using Dims = llvm::MapVector<llvm::StringRef, int64_t>;

/// Converts to Sizes; `source` is named in errors.
Sizes makeSizes(const Dims &dims, llvm::StringRef source);

struct Symbol {
  llvm::StringRef name;
  /// Whether it only sizes first dimensions, like a batch under another name.
  bool isOuter;
};

/// The symbols of dynamic dimensions of inputs. They refer to the signature.
llvm::SmallVector<Symbol> getSymbols(const Signature &signature);

/// Sizes to choose from for one symbol.
struct SizeList {
  std::string symbol;
  llvm::SmallVector<int64_t> sizes;
};

/// Fails at `--size` if a list is for an unknown symbol.
llvm::LogicalResult checkSizes(llvm::ArrayRef<SizeList> lists, llvm::ArrayRef<Symbol> symbols);

/// All combinations, which refer to the lists; the size of the last symbol changes fastest.
std::vector<Dims> combine(llvm::ArrayRef<SizeList> lists);

/// Whether the arguments of a spec, before any pass, have `attn.dims`.
bool hasDims(mlir::func::FuncOp function);

/// The size of a tensor's dimension, if it follows from sizes of symbols.
std::optional<int64_t>
traceSize(mlir::Value tensor, int64_t dim, mlir::attn::SizeTracer &tracer,
          llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> getSymbolSize);
/// The same of a call.
std::optional<int64_t> traceSize(mlir::Value tensor, int64_t dim, mlir::attn::SizeTracer &tracer,
                                 const Sizes &sizes);

/// The most pages that `rows` keys in sequence lie in.
int64_t countPages(int64_t rows, int64_t pageSize);

} // namespace attnc

#endif // ATTNC_EXECUTION_SIZES_H
