//===- Attn.h - the attn dialect --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ATTN_H
#define ATTNC_DIALECT_ATTN_ATTN_H

#include "attnc/Dialect/Attn/AttnOpInterface.h"
#include "attnc/Dialect/Attn/ScheduleAttrInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

#include "attnc/Dialect/Attn/AttnDialect.h.inc"
#include "attnc/Dialect/Attn/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Attn/AttnAttrs.h.inc"
#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.h.inc"

namespace mlir::attn {

/// The attn.mask ops that `score` derives from through attn.mask and attn.modify_score alone. Keys
/// that they hide stay hidden.
SmallVector<MaskOp> findMasksBehind(Value score);

/// The pools that an op reads or appends to by a page table; none of most ops. `offsets` are null
/// but for a table in CSR, `lengths` may be.
struct PagedTensors {
  Value table, offsets, lengths;
  SmallVector<Value, 2> pools;

  /// The dimension of the table that counts pages.
  int64_t getPageDim() const { return cast<RankedTensorType>(table.getType()).getRank() - 1; }
  /// Whether groups of heads have pages of their own.
  bool haveHeadGroups() const { return getPageDim() == 2; }
};
PagedTensors getPagedTensors(Operation *op);

/// Whether an op's values are the first dims of its keys, in the same memory: as in latent
/// attention in its absorbed form, where one tensor serves as both.
bool areValuesInKeys(AttentionOp op);

/// Packed rows that an op reads by offsets: dimension `dim` of `rows` has their number. Or the
/// numbers of pages of a table in CSR.
struct PackedRows {
  Value offsets, rows;
  int64_t dim;
  StringRef what = "rows";
};
SmallVector<PackedRows> getPackedRows(Operation *op);

/// The argument whose memory a result of the graph may share: the cache or pool that `op` appends
/// to, without other readers. Null for other ops, and for null.
BlockArgument getArgumentInPlace(Operation *op);

/// Whether `name` is an identifier in C and C++ and not a keyword.
bool isCIdentifier(StringRef name);
/// `name` as such an identifier, with underscores where C allows nothing else; `otherwise` if it is
/// empty.
std::string toCIdentifier(StringRef name, StringRef otherwise);
/// The name, with a number if `names` has it already; adds it.
std::string makeUnique(StringRef name, llvm::StringSet<> &names);

/// What callers call an argument or a result: its `attn.name`, else `arg` or `out` and its number.
std::string getArgumentName(FunctionOpInterface function, unsigned index);
std::string getResultName(FunctionOpInterface function, unsigned index);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ATTN_H
