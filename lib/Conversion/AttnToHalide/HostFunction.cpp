//===- HostFunction.cpp - builds the host function ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

HostFunction::HostFunction(func::FuncOp source)
    : source(source), builder(source.getLoc(), source.getContext()), tracer(source) {}

/// A caller's buffer: unit innermost stride, any other strides.
static MemRefType callerType(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

LogicalResult HostFunction::create() {
  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(), source.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return source.emitError("expected ranked tensors as arguments and results, found ") << type;
    if (!halide::isBufferElementType(tensor.getElementType()))
      return source.emitError("expected ")
             << halide::kBufferElementTypes << " as elements of arguments and results, found "
             << tensor.getElementType();
    types.push_back(callerType(tensor));
  }
  builder.setInsertionPointAfter(source);
  host = func::FuncOp::create(builder, source.getName(), builder.getFunctionType(types, {}));
  builder.setInsertionPointToStart(host.addEntryBlock());

  int64_t numArgs = source.getNumArguments();
  for (BlockArgument arg : source.getArguments()) {
    buffers[arg] = host.getArgument(arg.getArgNumber());
    host.setArgAttrs(arg.getArgNumber(), source.getArgAttrDict(arg.getArgNumber()));
  }
  OperandRange results = source.getBody().front().getTerminator()->getOperands();
  for (unsigned n = 0; n < source.getNumResults(); ++n) {
    host.setArgAttrs(numArgs + n, source.getResultAttrDict(n));
    host.setArgAttr(numArgs + n, kResultAttr, builder.getUnitAttr());
    bool isFirst = !llvm::is_contained(results.take_front(n), results[n]);
    if (auto argument = getArgumentInPlace(results[n].getDefiningOp()); argument && isFirst)
      host.setArgAttr(numArgs + n, kInPlaceAttr,
                      builder.getI64IntegerAttr(argument.getArgNumber()));
    openDims.push_back(findOpenDims(n, results[n]));
  }
  return success();
}

void HostFunction::finish() {
  func::ReturnOp::create(builder);
  source.erase();
}

SmallVector<int64_t> HostFunction::findOpenDims(int64_t n, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto dims = source.getResultAttrOfType<ArrayAttr>(n, kDimsAttr);
  SmallVector<int64_t> open;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    std::optional<Size> size = tracer.trace(tensor, dim);
    Attribute symbol = size && !size->isConstant() ? tracer.getSymbol(*size) : StringAttr();
    if (!dims || !symbol || dims[dim] != symbol)
      open.push_back(dim);
  }
  return open;
}

Value HostFunction::getResultBuffer(int64_t n) {
  Value buffer = host.getArgument(source.getNumArguments() + n);
  Value tensor = source.getBody().front().getTerminator()->getOperand(n);
  for (int64_t dim : std::exchange(openDims[n], {}))
    buildBeforeLoop([&] {
      Value expected = getSize(tensor, dim), found = memref::DimOp::create(builder, buffer, dim);
      Value same = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, found, expected);
      std::string message = getResultName(source, n) + ": expected dim " + std::to_string(dim) +
                            " to be {}, found {}";
      host::RequireOp::create(builder, same, builder.getStringAttr(message),
                              ValueRange{expected, found});
      return Value();
    });
  return buffer;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value HostFunction::getBuffer(Value tensor) {
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  if (constant && !hasBuffer(tensor))
    setBuffer(tensor, buildBeforeLoop([&] { return addConstant(constant); }));
  return buffers.lookup(tensor);
}

Value HostFunction::getDestination(Value tensor) {
  if (Value known = buffers.lookup(tensor))
    return known;
  Value buffer;
  auto results = source.getBody().front().getTerminator()->getOperands();
  if (llvm::is_contained(results, tensor))
    buffer = getResultBuffer(llvm::find(results, tensor) - results.begin());
  if (!buffer && tensor.hasOneUse())
    buffer = viewInReader(tensor, *tensor.user_begin());
  if (!buffer)
    buffer = allocate(tensor);
  return buffers[tensor] = buffer;
}

Value HostFunction::allocate(Value tensor) {
  if (loop)
    return buildBeforeLoop([&] { return allocate(tensor); });
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> dynamic;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamic.push_back(getSize(tensor, dim));
  return allocate(MemRefType::get(type.getShape(), type.getElementType()), dynamic);
}

Value HostFunction::allocate(MemRefType type, ValueRange dynamicSizes) {
  if (loop && dynamicSizes.empty())
    return buildBeforeLoop([&] { return allocate(type); });
  return memref::AllocOp::create(builder, type, dynamicSizes);
}

bool HostFunction::isCompact(Value tensor) {
  return cast<MemRefType>(getBuffer(tensor).getType()).getLayout().isIdentity();
}

Value HostFunction::addConstant(arith::ConstantOp op) {
  std::string name = (source.getName() + "_constant_" + Twine(numConstants++)).str();
  auto type = cast<RankedTensorType>(op.getType());
  auto memref = MemRefType::get(type.getShape(), type.getElementType());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(source);
    memref::GlobalOp::create(builder, name, builder.getStringAttr("private"), memref, op.getValue(),
                             /*constant=*/true,
                             /*alignment=*/builder.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(builder, memref, name);
}

//===----------------------------------------------------------------------===//
// Exchange between processes
//===----------------------------------------------------------------------===//

Value HostFunction::buildBeforeLoop(function_ref<Value()> build) {
  if (!loop)
    return build();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  scf::ForOp inner = std::exchange(loop, {});
  std::swap(indices, indicesBeforeLoop);
  Value built = build();
  std::swap(indices, indicesBeforeLoop);
  loop = inner;
  return built;
}

Value HostFunction::beginLoop(Value count) {
  assert(!loop && "loops don't nest");
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  indicesBeforeLoop = indices;
  loop = scf::ForOp::create(builder, zero, count, one);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVar();
}

void HostFunction::endLoop() {
  builder.setInsertionPointAfter(loop);
  indices = std::move(indicesBeforeLoop);
  loop = {};
}

LogicalResult HostFunction::buildIf(Value condition, function_ref<LogicalResult()> build) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  IRMapping known = indices;
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  LogicalResult result = build();
  indices = std::move(known);
  builder.setInsertionPointAfter(branch);
  return result;
}

void HostFunction::call(Location loc, KernelOpInterface kernel, ArrayRef<Value> inputs,
                        ArrayRef<Value> destinations, Value condition) {
  SmallVector<Value> operands =
      llvm::map_to_vector(inputs, [&](Value tensor) { return getBuffer(tensor); });
  llvm::append_range(operands, destinations);
  host::CallOp::create(builder, loc, kernel.getName(), operands, condition);
}
