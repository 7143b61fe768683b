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

/// Builds constants and structs field by field.
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

/// A slot in the host function's frame, made once however often it is reached. Its life begins
/// here: calls whose slots are dead take turns in the frame.
Value allocate(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, Type type, int64_t count);

/// Whether Halide's buffers hold such elements.
bool hasTypeCode(Type element);

/// The address of a halide_buffer_t, in the host function's frame, of the elements of `memref`, a
/// descriptor. One without elements gets an address in any case, unless `onDevice`.
Value buildBuffer(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                  const LLVMTypeConverter &converter, MemRefType type, Value memref, bool onDevice);

} // namespace mlir::host

#endif // ATTNC_LIB_CONVERSION_HOSTTOLLVM_HALIDEBUFFER_H
