//===- HalideBuffer.h - Halide's buffers in the LLVM dialect ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_CONVERSION_HOSTTOLLVM_HALIDEBUFFER_H
#define ATTNC_LIB_CONVERSION_HOSTTOLLVM_HALIDEBUFFER_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::host {

/// Builds constants and structs.
class FieldBuilder {
public:
  FieldBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(int64_t value, unsigned bits) {
    return LLVM::ConstantOp::create(builder, loc, builder.getIntegerType(bits), value);
  }
  Value truncate(Value value) {
    return LLVM::TruncOp::create(builder, loc, builder.getI32Type(), value);
  }
  Value null() {
    return LLVM::ZeroOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()));
  }
  Value pack(Type type, ValueRange fields) {
    Value value = LLVM::PoisonOp::create(builder, loc, type);
    for (auto [position, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(builder, loc, value, field, position);
    return value;
  }

private:
  OpBuilder &builder;
  Location loc;
};

/// An alloca in the host function's entry block with a lifetime that starts here, so that calls
/// share stack space.
Value allocate(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, Type type, int64_t count);

/// Whether Halide's buffers can hold elements of this type.
bool hasTypeCode(Type element);

/// Builds a halide_buffer_t on the stack for `memref`, a descriptor, and returns its address. An
/// empty memref gets a non-null host pointer, unless `onDevice`.
Value buildBuffer(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                  const LLVMTypeConverter &converter, MemRefType type, Value memref, bool onDevice);

} // namespace mlir::host

#endif // ATTNC_LIB_CONVERSION_HOSTTOLLVM_HALIDEBUFFER_H
