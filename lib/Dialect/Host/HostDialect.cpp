//===- HostDialect.cpp - the host dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Host/Host.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::host;

#include "attnc/Dialect/Host/HostDialect.cpp.inc"

void HostDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Host/HostOps.cpp.inc"
      >();
}

bool host::isHostFunction(func::FuncOp function) {
  return !function.isExternal() && function.getNumResults() == 0 &&
         function.getNumArguments() > 0 &&
         llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>);
}

Value host::getViewedBuffer(Value memref) {
  // Not every view has ViewLikeOpInterface: memref.transpose lacks it.
  while (Operation *op = memref.getDefiningOp()) {
    auto isMemref = [](Value operand) { return isa<BaseMemRefType>(operand.getType()); };
    auto source = llvm::find_if(op->getOperands(), isMemref);
    if (source == op->operand_end())
      break;
    memref = *source;
  }
  return memref;
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

static bool matches(MemRefType buffer, MemRefType parameter) {
  return attn::getKernelType(buffer.getElementType()) == parameter.getElementType() &&
         succeeded(verifyCompatibleShape(buffer, parameter));
}

/// Kernels take buffers in the default memory space with unit innermost stride.
static LogicalResult verifyLayout(CallOp op, size_t index, MemRefType buffer) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (buffer.getMemorySpace() || failed(buffer.getStridesAndOffset(strides, offset)))
    return op.emitOpError("expected buffer ")
           << index << " to be strided and in the default memory space, found " << buffer;
  if (strides.empty() || ShapedType::isDynamic(strides.back()) || strides.back() == 1 ||
      buffer.getShape().back() == 1)
    return success();
  return op.emitOpError("expected buffer ")
         << index << " to have stride 1 in its last dimension, found " << buffer;
}

attn::KernelOpInterface CallOp::getKernel() {
  return dyn_cast_or_null<attn::KernelOpInterface>(
      SymbolTable::lookupNearestSymbolFrom(*this, getCalleeAttr()));
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = dyn_cast_or_null<attn::KernelOpInterface>(
      symbols.lookupNearestSymbolFrom(*this, getCalleeAttr()));
  if (!kernel) // (C1)
    return emitOpError("expected a kernel, found none named ") << getCallee();
  SmallVector<attn::KernelParameter> parameters = kernel.getParameters();
  if (parameters.size() != getBuffers().size()) // (C2)
    return emitOpError("expected ")
           << parameters.size() << " buffers, found " << getBuffers().size();
  for (auto [i, parameter, buffer] : llvm::enumerate(parameters, getBuffers())) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type || !matches(type, parameter.type))
      return emitOpError("expected buffer ")
             << i << " to be " << parameter.type << ", found " << buffer.getType();
    if (failed(verifyLayout(*this, i, type))) // (C3)
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// LoadOp, RequireOp
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() { // (C1)
  int64_t rank = cast<MemRefType>(getBuffer().getType()).getRank();
  if (int64_t(getIndices().size()) == rank)
    return success();
  return emitOpError("expected ") << rank << " indices, found " << getIndices().size();
}

LogicalResult RequireOp::verify() { // (C1)
  size_t expected = getMessage().count("{}");
  if (getNumbers().size() == expected)
    return success();
  return emitOpError("expected ") << expected << " numbers, found " << getNumbers().size();
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Host/HostOps.cpp.inc"
