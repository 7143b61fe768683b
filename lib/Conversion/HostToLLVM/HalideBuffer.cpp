//===- HalideBuffer.cpp - Halide's buffers in the LLVM dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows Halide's C ABI: the layout of halide_buffer_t and the order of dimensions.
//
//===----------------------------------------------------------------------===//

#include "HalideBuffer.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"

using namespace mlir;
using namespace mlir::host;

/// halide_dimension_t: min, extent, stride, flags.
static LLVM::LLVMStructType getDimensionType(MLIRContext *context) {
  Type i32 = IntegerType::get(context, 32);
  return LLVM::LLVMStructType::getLiteral(context, {i32, i32, i32, i32});
}

/// halide_type_t: code, bits, lanes.
static LLVM::LLVMStructType getElementType(MLIRContext *context) {
  Type i8 = IntegerType::get(context, 8), i16 = IntegerType::get(context, 16);
  return LLVM::LLVMStructType::getLiteral(context, {i8, i8, i16});
}

/// halide_buffer_t: device, device_interface, host, flags, type, dimensions,
/// dim, padding.
static LLVM::LLVMStructType getBufferType(MLIRContext *context) {
  Type i64 = IntegerType::get(context, 64), i32 = IntegerType::get(context, 32);
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMStructType::getLiteral(
      context, {i64, pointer, pointer, i64, getElementType(context), i32, pointer, pointer});
}

/// halide_type_code_t. Pipelines move integers without regard to their sign.
static std::optional<int64_t> getTypeCode(Type element) {
  if (element.isInteger(1))
    return 1;
  if (isa<IntegerType, Float8E4M3FNType>(element))
    return 0;
  if (element.isBF16())
    return 4;
  if (isa<Float16Type, Float32Type, Float64Type>(element))
    return 2;
  return std::nullopt;
}

bool host::hasTypeCode(Type element) { return getTypeCode(element).has_value(); }

Value host::allocate(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, Type type,
                     int64_t count) {
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  builder.setInsertionPointToStart(&host.getBody().front());
  Value size = FieldBuilder(builder, loc).constant(count, 64);
  Value slot = LLVM::AllocaOp::create(builder, loc,
                                      LLVM::LLVMPointerType::get(builder.getContext()), type, size);
  builder.restoreInsertionPoint(here);
  LLVM::LifetimeStartOp::create(builder, loc, slot);
  return slot;
}

/// Halide lists the innermost dimension first, a memref last.
static Value buildDimensions(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                             MemRefType type, MemRefDescriptor descriptor) {
  FieldBuilder structs(builder, loc);
  Type dimension = getDimensionType(builder.getContext());
  int64_t rank = type.getRank();
  if (rank == 0)
    return structs.null();
  Value dimensions = allocate(builder, loc, host, dimension, rank);
  Value zero = structs.constant(0, 32);
  for (int32_t i = 0; i < rank; ++i) {
    int64_t memrefDim = rank - 1 - i;
    Value extent = structs.truncate(descriptor.size(builder, loc, memrefDim));
    Value stride = structs.truncate(descriptor.stride(builder, loc, memrefDim));
    Value place = LLVM::GEPOp::create(builder, loc, dimensions.getType(), dimension, dimensions,
                                      ArrayRef<LLVM::GEPArg>{i});
    LLVM::StoreOp::create(builder, loc, structs.pack(dimension, {zero, extent, stride, zero}),
                          place);
  }
  return dimensions;
}

/// `data`, or `other` for an empty tensor: Halide refuses null even if it reads nothing.
static Value replaceEmpty(OpBuilder &builder, Location loc, MemRefType type,
                          MemRefDescriptor descriptor, Value data, Value other) {
  if (type.hasStaticShape() && type.getNumElements() != 0)
    return data;
  Value zero = FieldBuilder(builder, loc).constant(0, 64);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value isEmpty = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                         descriptor.size(builder, loc, dim), zero);
    data = LLVM::SelectOp::create(builder, loc, isEmpty, other, data);
  }
  return data;
}

Value host::buildBuffer(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                        const LLVMTypeConverter &converter, MemRefType type, Value memref,
                        bool onDevice) {
  FieldBuilder structs(builder, loc);
  MLIRContext *context = builder.getContext();
  MemRefDescriptor descriptor(memref);
  Value dimensions = buildDimensions(builder, loc, host, type, descriptor);
  Value buffer = allocate(builder, loc, host, getBufferType(context), 1);
  Value data = descriptor.bufferPtr(builder, loc, converter, type);
  if (!onDevice)
    data = replaceEmpty(builder, loc, type, descriptor, data, buffer);
  Type element = type.getElementType();
  Value elementType =
      structs.pack(getElementType(context),
                   {structs.constant(*getTypeCode(element), 8),
                    structs.constant(element.getIntOrFloatBitWidth(), 8), structs.constant(1, 16)});
  Value zero = structs.constant(0, 64), null = structs.null();
  Value rank = structs.constant(type.getRank(), 32);
  Value value = structs.pack(getBufferType(context),
                             {zero, null, data, zero, elementType, rank, dimensions, null});
  LLVM::StoreOp::create(builder, loc, value, buffer);
  return buffer;
}
