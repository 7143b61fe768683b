//===- KernelBuilder.cpp - builds a cuda.kernel ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

Reg Buffer::at(ArrayRef<Reg> indices) const {
  auto &b = address.b();
  Reg offset = Reg::constant(b, b.getI64Type(), 0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    offset = offset + widen(index) * widen(stride);
  return {b, LLVM::GEPOp::create(b, address.getType(), element, address,
                                 ArrayRef<LLVM::GEPArg>{Value(offset)})};
}

Reg Buffer::countRows() const {
  Reg count = sizes[0];
  for (Reg size : ArrayRef(sizes).drop_front().drop_back())
    count = count * size;
  return count;
}

Regs Buffer::splitRow(Reg row) const {
  Regs indices(sizes.size() - 1);
  for (size_t dim = indices.size() - 1; dim > 0; --dim) {
    indices[dim] = row % sizes[dim];
    row = row / sizes[dim];
  }
  indices[0] = row;
  return indices;
}

KernelBuilder::KernelBuilder(OpBuilder &at, Location loc, StringRef name) : builder(loc, at) {
  kernel = cuda::KernelOp::create(builder, name, builder.getStrArrayAttr({}),
                                  builder.getTypeArrayAttr({}), /*num_inputs=*/0,
                                  builder.getArrayAttr({}), /*threads=*/32, /*shared_bytes=*/0,
                                  /*tensor_maps=*/nullptr, /*fallback=*/nullptr);
  body = builder.createBlock(&kernel.getBody());
}

Reg KernelBuilder::minusInf() { return f32(-std::numeric_limits<float>::infinity()); }

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static MemRefType getBufferType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Adds the arguments of a buffer. Static sizes become constants.
Buffer KernelBuilder::add(unsigned at, MemRefType type) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(body);
  SmallVector<Reg> arguments;
  for (Type argument : cuda::getArgumentTypes(type))
    arguments.push_back({builder, body->insertArgument(at++, argument, builder.getLoc())});
  Buffer buffer{arguments.front(), {}, {}, type.getElementType()};
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim) {
    bool isStatic = !type.isDynamicDim(dim), isLast = dim + 1 == rank;
    buffer.sizes.push_back(isStatic ? i32(type.getDimSize(dim)) : arguments[1 + dim]);
    buffer.strides.push_back(isLast ? i32(1) : arguments[1 + rank + dim]);
  }
  // Bytes are the least that memory has.
  if (buffer.element.isInteger(1))
    buffer.element = builder.getI8Type();
  return buffer;
}

static unsigned countArguments(ArrayRef<MemRefType> types) {
  unsigned count = 0;
  for (MemRefType type : types)
    count += cuda::getArgumentTypes(type).size();
  return count;
}

Buffer KernelBuilder::input(StringRef name, Value tensor) {
  auto [known, isNew] = inputs.try_emplace(tensor);
  if (isNew) {
    MemRefType type = getBufferType(cast<RankedTensorType>(tensor.getType()));
    known->second = add(countArguments(inputTypes), type);
    inputTypes.push_back(type);
    inputNames.push_back(name.copy(names));
  }
  return known->second;
}

Buffer KernelBuilder::output(StringRef name, RankedTensorType tensor) {
  MemRefType type = getBufferType(tensor);
  Buffer buffer = add(body->getNumArguments() - maps.size(), type);
  outputTypes.push_back(type);
  outputNames.push_back(name.copy(names));
  return buffer;
}

Reg KernelBuilder::tensorMap(Value input, ArrayRef<int64_t> box) {
  SmallVector<int64_t> numbers = {numberOf(input)};
  llvm::append_range(numbers, box);
  maps.push_back(builder.getI64ArrayAttr(numbers));
  return {builder, body->addArgument(cuda::getMapType(builder.getContext()), builder.getLoc())};
}

Reg KernelBuilder::load(Reg address, Type type) {
  return {builder, LLVM::LoadOp::create(builder, type, address)};
}

Reg KernelBuilder::loadWithin(const Buffer &buffer, ArrayRef<Reg> indices, Reg low, Reg high) {
  Reg x = load(buffer.at(indices), buffer.element);
  x = clamp(x, convert(low, x.getType()), convert(high, x.getType()));
  return convert(x, builder.getI32Type());
}

Reg KernelBuilder::loadElement(const Buffer &buffer, ArrayRef<Reg> indices, Type element) {
  Reg loaded = load(buffer.at(indices), buffer.element);
  return element.isInteger(1) ? isNot(loaded == 0) : loaded;
}

void KernelBuilder::store(Reg value, Reg address) {
  LLVM::StoreOp::create(builder, value, address);
}

void KernelBuilder::storePair(Reg pair, Reg address, Reg count) {
  Type i16 = builder.getIntegerType(16), i64 = builder.getI64Type();
  Reg place(builder, LLVM::PtrToIntOp::create(builder, i64, address));
  auto whole = [&]() -> Regs {
    store(pair, address);
    return {};
  };
  auto halves = [&]() -> Regs {
    Reg next(builder, LLVM::GEPOp::create(builder, address.getType(), i16, address,
                                          ArrayRef<LLVM::GEPArg>{1}));
    Reg high(builder, arith::ShRUIOp::create(builder, pair, i32(16)));
    when(count >= 1, [&] { store(convert(pair, i16), address); });
    when(count >= 2, [&] { store(convert(high, i16), next); });
    return {};
  };
  choose(((place & 3) == 0) & (count >= 2), whole, halves);
}

BuiltKernel KernelBuilder::finish(ArrayRef<cuda::KernelOp::Blocks> blocks, int64_t threads,
                                  int64_t sharedBytes) {
  cuda::ReturnOp::create(builder);
  SmallVector<Attribute> factors, types;
  for (cuda::KernelOp::Blocks factor : blocks) {
    SmallVector<int64_t> numbers = {factor.buffer, factor.dim, factor.dims, factor.divisor};
    if (factor.addedBuffer >= 0)
      numbers.append({factor.addedBuffer, factor.addedDim});
    factors.push_back(builder.getI64ArrayAttr(numbers));
  }
  for (Type type : llvm::concat<MemRefType>(inputTypes, outputTypes))
    types.push_back(TypeAttr::get(type));
  SmallVector<StringRef> all(inputNames);
  llvm::append_range(all, outputNames);
  kernel.setNamesAttr(builder.getStrArrayAttr(all));
  kernel.setTypesAttr(builder.getArrayAttr(types));
  kernel.setNumInputs(inputTypes.size());
  kernel.setBlocksAttr(builder.getArrayAttr(factors));
  if (!maps.empty())
    kernel.setTensorMapsAttr(builder.getArrayAttr(maps));
  kernel.setThreads(threads);
  kernel.setSharedBytes(sharedBytes);
  return {kernel, llvm::to_vector(llvm::make_first_range(inputs))};
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static SmallVector<Value> toValues(ArrayRef<Reg> regs) {
  return llvm::map_to_vector(regs, [](Reg reg) { return Value(reg); });
}

static Regs toRegs(ImplicitLocOpBuilder &builder, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return Reg(builder, value); });
}

Regs KernelBuilder::loop(Reg low, Reg high, int64_t step, ArrayRef<Reg> values,
                         function_ref<Regs(Reg, ArrayRef<Reg>)> body) {
  auto loop = scf::ForOp::create(builder, low, high, low.constant(step), toValues(values));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (values.empty())
      loop.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(loop.getBody());
    Regs next = body({builder, loop.getInductionVar()}, toRegs(builder, loop.getRegionIterArgs()));
    scf::YieldOp::create(builder, toValues(next));
  }
  return toRegs(builder, loop.getResults());
}

Regs KernelBuilder::choose(Reg condition, function_ref<Regs()> yes, function_ref<Regs()> no) {
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  Block *branches[] = {new Block, new Block};
  Regs results[2];
  for (auto [branch, values, block] : llvm::zip(ArrayRef({yes, no}), results, branches)) {
    builder.setInsertionPointToStart(block);
    values = branch();
    scf::YieldOp::create(builder, toValues(values));
  }
  builder.restoreInsertionPoint(here);
  auto types = llvm::map_to_vector(results[0], [](Reg reg) { return reg.getType(); });
  auto choice = scf::IfOp::create(builder, types, condition, /*withElseRegion=*/true);
  for (auto [region, block] : llvm::zip(choice->getRegions(), branches)) {
    region.getBlocks().clear();
    region.push_back(block);
  }
  return toRegs(builder, choice.getResults());
}

void KernelBuilder::when(Reg condition, function_ref<void()> body) {
  auto choice = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  body();
}
