//===- HostOps.cpp - ops of the host dialect to the LLVM dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"

#include "HalideBuffer.h"

#include "attnc/Dialect/Host/Host.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;
using namespace mlir::host;

namespace {
/// Lowers an op inside a host function that is an LLVM function already. `onDevice`: kernels run on
/// a GPU.
template <typename OpTy>
class HostOpPattern : public ConvertOpToLLVMPattern<OpTy> {
public:
  using OpAdaptor = typename OpTy::Adaptor;

  HostOpPattern(const LLVMTypeConverter &converter, bool onDevice)
      : ConvertOpToLLVMPattern<OpTy>(converter), onDevice(onDevice) {}

  LogicalResult matchAndRewrite(OpTy op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto host = op->template getParentOfType<LLVM::LLVMFuncOp>();
    if (!host)
      return rewriter.notifyMatchFailure(op, "expected a converted host function");
    return rewrite(op, adaptor, host, rewriter);
  }

protected:
  virtual LogicalResult rewrite(OpTy op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                                ConversionPatternRewriter &rewriter) const = 0;

  /// Where a buffer's first element lies.
  Value getPointer(OpBuilder &builder, Value buffer, Value descriptor) const {
    return MemRefDescriptor(descriptor)
        .bufferPtr(builder, buffer.getLoc(), *this->getTypeConverter(),
                   cast<MemRefType>(buffer.getType()));
  }

  const bool onDevice;
};
} // namespace

/// Splits the block after `op`: if `ok` holds, control continues in the returned block, else in the
/// exit that `leave` builds.
static Block *leaveUnless(RewriterBase &rewriter, Operation *op, Value ok,
                          function_ref<void()> leave) {
  Block *before = rewriter.getInsertionBlock();
  Block *after = rewriter.splitBlock(before, std::next(op->getIterator()));
  Block *left = rewriter.createBlock(before->getParent());
  leave();
  rewriter.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(rewriter, op->getLoc(), ok, after, left);
  return after;
}

/// `explain` builds the error report before the return of the status.
static Block *returnUnlessZero(RewriterBase &rewriter, Operation *call, Value status,
                               function_ref<void()> explain = {}) {
  Location loc = call->getLoc();
  Value zero = FieldBuilder(rewriter, loc).constant(0, 32);
  Value ok = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq, status, zero);
  return leaveUnless(rewriter, call, ok, [&] {
    if (explain)
      explain();
    LLVM::ReturnOp::create(rewriter, loc, status);
  });
}

static Type getTextType(StringAttr text) {
  return LLVM::LLVMArrayType::get(IntegerType::get(text.getContext(), 8), text.size());
}

/// The address of a new global constant whose name starts with `name`.
static Value addressOfConstant(OpBuilder &builder, Operation *op, StringRef name, Type type,
                               Attribute value) {
  auto module = op->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  OpBuilder atTop = OpBuilder::atBlockBegin(module.getBody());
  auto global = LLVM::GlobalOp::create(atTop, op->getLoc(), type, /*isConstant=*/true,
                                       LLVM::Linkage::Private, name, value);
  symbols.insert(global);
  return LLVM::AddressOfOp::create(builder, op->getLoc(), global);
}

//===----------------------------------------------------------------------===//
// Calls of support code
//===----------------------------------------------------------------------===//

static Value callForStatus(OpBuilder &builder, Location loc, StringRef function,
                           ValueRange arguments) {
  return LLVM::CallOp::create(builder, loc, TypeRange(builder.getI32Type()), function, arguments)
      .getResult();
}

/// Calls a function in place of `op`; a status other than 0 ends the host function.
static void replaceByCall(ConversionPatternRewriter &rewriter, Operation *op, StringRef function,
                          ValueRange arguments) {
  returnUnlessZero(rewriter, op, callForStatus(rewriter, op->getLoc(), function, arguments));
  rewriter.eraseOp(op);
}

/// An array of values on the stack.
static Value storeArray(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, Type element,
                        ValueRange values) {
  Value array = allocate(builder, loc, host, element, values.size());
  for (auto [index, value] : llvm::enumerate(values)) {
    Value place = LLVM::GEPOp::create(builder, loc, array.getType(), element, array,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
    LLVM::StoreOp::create(builder, loc, value, place);
  }
  return array;
}

/// The same of i64.
static Value storeNumbers(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                          ValueRange numbers) {
  return storeArray(builder, loc, host, builder.getI64Type(), numbers);
}

static Value buildElementBytes(OpBuilder &builder, Location loc, Type element) {
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return FieldBuilder(builder, loc).constant(bytes, 64);
}

//===----------------------------------------------------------------------===//
// host.call
//===----------------------------------------------------------------------===//

/// Function of the support code that runs a kernel on a GPU.
static constexpr StringLiteral deviceCall = "attnc_device_call", deviceRead = "attnc_device_read";

/// Function of the support code that replaces parameter names in a kernel's message by the caller's
/// argument names.
static constexpr StringLiteral nameTensors = "attnc_name_tensors";

/// Suffix of the global with a kernel's parameter names; the dot keeps it apart from C symbols.
static std::string getNamesSymbol(StringRef kernel) { return (kernel + ".parameters").str(); }

/// The second entry point of a kernel, on an array of arguments.
static std::string getPackedName(StringRef kernel) { return (kernel + "_argv").str(); }

/// Ends the lifetimes that began in `block`.
static void endLifetimes(OpBuilder &builder, Location loc, Block *block) {
  for (auto start : llvm::to_vector(block->getOps<LLVM::LifetimeStartOp>()))
    if (llvm::none_of(start.getPtr().getUsers(), llvm::IsaPred<LLVM::LifetimeEndOp>))
      LLVM::LifetimeEndOp::create(builder, loc, start.getPtr());
}

namespace {
struct CallPattern : HostOpPattern<host::CallOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::CallOp call, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Block *before = rewriter.getInsertionBlock();
    if (call.getCondition()) {
      rewriter.splitBlock(before, call->getIterator());
      rewriter.setInsertionPoint(call);
    }
    SmallVector<Value> arguments{host.getArgument(0)};
    for (auto [buffer, descriptor] : llvm::zip(call.getBuffers(), adaptor.getBuffers())) {
      auto type = cast<MemRefType>(buffer.getType());
      if (!hasTypeCode(type.getElementType()))
        return rewriter.notifyMatchFailure(call, "expected elements that Halide has");
      arguments.push_back(buildBuffer(rewriter, call.getLoc(), host, *getTypeConverter(), type,
                                      descriptor, onDevice));
    }
    Value status = onDevice
                       ? callOnDevice(rewriter, call.getLoc(), host, call.getCallee(), arguments)
                       : callForStatus(rewriter, call.getLoc(), call.getCallee(), arguments);
    Block *called = call->getBlock();
    endLifetimes(rewriter, call.getLoc(), called);
    Block *after = returnUnlessZero(rewriter, call, status,
                                    [&] { nameArguments(rewriter, call, host.getArgument(0)); });
    if (Value condition = adaptor.getCondition()) {
      rewriter.setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(rewriter, call.getLoc(), condition, called, after);
    }
    rewriter.eraseOp(call);
    return success();
  }

private:
  Value callOnDevice(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, StringRef kernel,
                     ValueRange arguments) const;
  void nameArguments(OpBuilder &builder, host::CallOp call, Value context) const;
};

} // namespace

/// A kernel may be called from several places: its messages name parameters, which the caller maps
/// to arguments.
void CallPattern::nameArguments(OpBuilder &builder, host::CallOp call, Value context) const {
  auto numbers = call->getAttrOfType<DenseI32ArrayAttr>(kArgumentsAttr);
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), numbers.size());
  Value arguments = addressOfConstant(builder, call, "call_arguments", type,
                                      builder.getI32TensorAttr(numbers.asArrayRef()));
  Value parameters = LLVM::AddressOfOp::create(builder, call.getLoc(),
                                               LLVM::LLVMPointerType::get(builder.getContext()),
                                               getNamesSymbol(call.getCallee()));
  LLVM::CallOp::create(builder, call.getLoc(), TypeRange(), nameTensors,
                       ValueRange{context, parameters, arguments});
}

/// `arguments` are the user context and the buffers.
Value CallPattern::callOnDevice(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                                StringRef kernel, ValueRange arguments) const {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  ValueRange buffers = arguments.drop_front();
  Value array = storeArray(builder, loc, host, pointer, buffers);
  Value function = LLVM::AddressOfOp::create(builder, loc, pointer, getPackedName(kernel));
  Value count = FieldBuilder(builder, loc).constant(buffers.size(), 32);
  return callForStatus(builder, loc, deviceCall, {arguments.front(), function, array, count});
}

//===----------------------------------------------------------------------===//
// host.load
//===----------------------------------------------------------------------===//

namespace {
struct LoadPattern : HostOpPattern<host::LoadOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::LoadOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    auto type = cast<MemRefType>(op.getBuffer().getType());
    Value place = getStridedElementPtr(rewriter, op.getLoc(), type, adaptor.getBuffer(),
                                       adaptor.getIndices());
    if (onDevice)
      place = copyFromDevice(rewriter, op, host, place);
    Type element = getTypeConverter()->convertType(type.getElementType());
    Value value = LLVM::LoadOp::create(rewriter, op.getLoc(), element, place);
    if (onDevice)
      LLVM::LifetimeEndOp::create(rewriter, op.getLoc(), place);
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  Value copyFromDevice(ConversionPatternRewriter &rewriter, host::LoadOp op, LLVM::LLVMFuncOp host,
                       Value place) const;
};
} // namespace

/// Copies the element at `place` to a stack slot; the insertion point is then in a new block.
Value LoadPattern::copyFromDevice(ConversionPatternRewriter &rewriter, host::LoadOp op,
                                  LLVM::LLVMFuncOp host, Value place) const {
  Location loc = op.getLoc();
  Type element = getTypeConverter()->convertType(op.getValue().getType());
  Value slot = allocate(rewriter, loc, host, element, 1);
  Value bytes = buildElementBytes(rewriter, loc, element);
  Value status =
      callForStatus(rewriter, loc, deviceRead, {host.getArgument(0), slot, place, bytes});
  Block *after = returnUnlessZero(rewriter, op, status);
  rewriter.setInsertionPointToStart(after);
  return slot;
}

//===----------------------------------------------------------------------===//
// host.require
//===----------------------------------------------------------------------===//

/// The status of a refused call: attnc_refused of attnc_support.h.
static constexpr int64_t kRefused = 1;

namespace {
/// Reports to Halide's error handler, with numbers through the support code, and returns.
struct RequirePattern : HostOpPattern<host::RequireOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::RequireOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    leaveUnless(rewriter, op, adaptor.getCondition(), [&] {
      StringAttr message = rewriter.getStringAttr(op.getMessage().str() + '\0');
      Value text =
          addressOfConstant(rewriter, op, "require_message", getTextType(message), message);
      SmallVector<Value> arguments = {host.getArgument(0), text};
      if (!op.getNumbers().empty())
        arguments.push_back(storeNumbers(rewriter, loc, host, adaptor.getNumbers()));
      LLVM::CallOp::create(rewriter, loc, TypeRange(),
                           op.getNumbers().empty() ? errorHandler : numbersHandler, arguments);
      LLVM::ReturnOp::create(rewriter, loc, FieldBuilder(rewriter, loc).constant(kRefused, 32));
    });
    rewriter.eraseOp(op);
    return success();
  }

  static constexpr StringLiteral errorHandler = "halide_error",
                                 numbersHandler = "attnc_error_with_numbers";
};
} // namespace

//===----------------------------------------------------------------------===//
// Exchange between processes
//===----------------------------------------------------------------------===//

/// Functions of the support code.
static constexpr StringLiteral exchangeRank = "attnc_exchange_rank",
                               exchangePlaces = "attnc_exchange_places",
                               exchangeGather = "attnc_exchange_gather",
                               exchangeAgree = "attnc_exchange_agree",
                               exchangePass = "attnc_exchange_pass",
                               exchangeTrade = "attnc_exchange_trade",
                               exchangeWait = "attnc_exchange_wait";

/// The bytes of a compact buffer.
static Value buildBytes(OpBuilder &builder, Location loc, Type buffer, Value memref) {
  auto type = cast<MemRefType>(buffer);
  MemRefDescriptor descriptor(memref);
  Value bytes = buildElementBytes(builder, loc, type.getElementType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes = LLVM::MulOp::create(builder, loc, bytes, descriptor.size(builder, loc, dim));
  return bytes;
}

namespace {
struct RankPattern : HostOpPattern<host::RankOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::RankOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Value place = getPointer(rewriter, op.getBuffer(), adaptor.getBuffer());
    LLVM::CallOp::create(rewriter, op.getLoc(), TypeRange(), exchangeRank,
                         ValueRange{host.getArgument(0), place});
    rewriter.eraseOp(op);
    return success();
  }
};

struct PlacesPattern : HostOpPattern<host::PlacesOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::PlacesOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Value place = getPointer(rewriter, op.getBuffer(), adaptor.getBuffer());
    Value layout = FieldBuilder(rewriter, op.getLoc()).constant(op.getLayout(), 32);
    replaceByCall(rewriter, op, exchangePlaces,
                  {host.getArgument(0), adaptor.getRows(), layout, place});
    return success();
  }
};

struct GatherPattern : HostOpPattern<host::GatherOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::GatherOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value from = getPointer(rewriter, op.getFrom(), adaptor.getFrom()),
          places = getPointer(rewriter, op.getPlaces(), adaptor.getPlaces()),
          into = getPointer(rewriter, op.getInto(), adaptor.getInto());
    Value numbers =
        storeNumbers(rewriter, loc, host, buildNumbers(op, adaptor.getFrom(), rewriter));
    replaceByCall(rewriter, op, exchangeGather, {host.getArgument(0), from, places, into, numbers});
    return success();
  }

private:
  /// The fields of attnc_exchange.c's gather.
  static SmallVector<Value> buildNumbers(host::GatherOp op, Value from, OpBuilder &builder);
};

struct AgreePattern : HostOpPattern<host::AgreeOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::AgreeOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Value numbers = storeNumbers(rewriter, op.getLoc(), host, adaptor.getNumbers());
    Value count = FieldBuilder(rewriter, op.getLoc()).constant(op.getNumbers().size(), 32);
    replaceByCall(rewriter, op, exchangeAgree, {host.getArgument(0), numbers, count});
    return success();
  }
};

struct PassPattern : HostOpPattern<host::PassOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::PassOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Value from = getPointer(rewriter, op.getFrom(), adaptor.getFrom());
    Value into = getPointer(rewriter, op.getInto(), adaptor.getInto());
    Value bytes = buildBytes(rewriter, op.getLoc(), op.getFrom().getType(), adaptor.getFrom());
    LLVM::CallOp::create(rewriter, op.getLoc(), TypeRange(), exchangePass,
                         ValueRange{host.getArgument(0), from, into, bytes});
    rewriter.eraseOp(op);
    return success();
  }
};

struct TradePattern : HostOpPattern<host::TradeOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::TradeOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = getPointer(rewriter, op.getData(), adaptor.getData());
    Value into = getPointer(rewriter, op.getReceived(), adaptor.getReceived());
    Value bytes = buildBytes(rewriter, loc, op.getData().getType(), adaptor.getData());
    Value combines = callForStatus(rewriter, loc, exchangeTrade,
                                   {host.getArgument(0), adaptor.getRound(), data, into, bytes});
    Value zero = FieldBuilder(rewriter, loc).constant(0, 32);
    rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne, combines, zero);
    return success();
  }
};

struct WaitPattern : HostOpPattern<host::WaitOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::WaitOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    replaceByCall(rewriter, op, exchangeWait, {host.getArgument(0)});
    return success();
  }
};
} // namespace

SmallVector<Value> GatherPattern::buildNumbers(host::GatherOp op, Value from, OpBuilder &builder) {
  Location loc = op.getLoc();
  FieldBuilder fields(builder, loc);
  auto type = cast<MemRefType>(op.getFrom().getType());
  MemRefDescriptor descriptor(from);
  Value blocks = fields.constant(1, 64),
        bytes = buildElementBytes(builder, loc, type.getElementType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != int64_t(op.getDim())) {
      Value &product = dim < int64_t(op.getDim()) ? blocks : bytes;
      product = LLVM::MulOp::create(builder, loc, product, descriptor.size(builder, loc, dim));
    }
  constexpr int64_t kAll = -1;
  std::optional<ArrayRef<int64_t>> halo = op.getHalo();
  return {blocks, bytes, fields.constant(op.getLayout(), 64),
          fields.constant(halo ? halo->front() : kAll, 64),
          fields.constant(halo ? halo->back() : kAll, 64)};
}

//===----------------------------------------------------------------------===//
// Temporaries of unknown sizes
//===----------------------------------------------------------------------===//

/// Function of the support code.
static constexpr StringLiteral allocateTemporary = "attnc_allocate";

namespace {
struct AllocatePattern : HostOpPattern<host::AllocateOp> {
  using HostOpPattern::HostOpPattern;

  LogicalResult rewrite(host::AllocateOp op, OpAdaptor adaptor, LLVM::LLVMFuncOp host,
                        ConversionPatternRewriter &rewriter) const override {
    if (onDevice)
      return op.emitOpError("expected sizes of temporaries on a GPU to follow from the arguments' "
                            "shapes alone");
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getBuffer().getType());
    SmallVector<Value> sizes, strides;
    Value elements;
    getMemRefDescriptorSizes(loc, type, adaptor.getSizes(), rewriter, sizes, strides, elements,
                             /*sizeInBytes=*/false);
    FieldBuilder fields(rewriter, loc);
    Type pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
    Value into = allocate(rewriter, loc, host, pointer, 1);
    Value bytes = buildElementBytes(rewriter, loc, type.getElementType());
    Value status = callForStatus(rewriter, loc, allocateTemporary,
                                 {host.getArgument(0), storeNumbers(rewriter, loc, host, sizes),
                                  fields.constant(sizes.size(), 32), bytes, into});
    Block *after = returnUnlessZero(rewriter, op, status);
    rewriter.setInsertionPointToStart(after);
    Value memory = LLVM::LoadOp::create(rewriter, loc, pointer, into);
    rewriter.replaceOp(
        op, {createMemRefDescriptor(loc, type, memory, memory, sizes, strides, rewriter)});
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions called by host functions
//===----------------------------------------------------------------------===//

/// Declares an error handler that takes `count` pointers.
static void declareErrorHandler(ModuleOp module, StringRef name, unsigned count) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Type> pointers(count, LLVM::LLVMPointerType::get(module.getContext()));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), pointers);
  LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

static bool reportsNumbers(ModuleOp module) {
  return module
      .walk([](RequireOp op) {
        return op.getNumbers().empty() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

static void declareNameTensors(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                          {pointer, pointer, pointer});
  LLVM::LLVMFuncOp::create(builder, module.getLoc(), nameTensors, type);
}

static void declareDevice(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i32 = builder.getI32Type();
  auto declare = [&](StringRef name, ArrayRef<Type> arguments) {
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                             LLVM::LLVMFunctionType::get(i32, arguments));
  };
  declare(deviceCall, {pointer, pointer, pointer, i32});
  declare(deviceRead, {pointer, pointer, pointer, builder.getI64Type()});
}

static void declareExchange(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i32 = builder.getI32Type(),
       i64 = builder.getI64Type(), none = LLVM::LLVMVoidType::get(module.getContext());
  auto declare = [&](StringRef name, Type result, ArrayRef<Type> arguments) {
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                             LLVM::LLVMFunctionType::get(result, arguments));
  };
  declare(exchangeRank, none, {pointer, pointer});
  declare(exchangePlaces, i32, {pointer, i64, i32, pointer});
  declare(exchangeGather, i32, {pointer, pointer, pointer, pointer, pointer});
  declare(exchangeAgree, i32, {pointer, pointer, i32});
  declare(exchangePass, none, {pointer, pointer, pointer, i64});
  declare(exchangeTrade, i32, {pointer, i64, pointer, pointer, i64});
  declare(exchangeWait, i32, {pointer});
}

static void declareAllocate(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i32 = builder.getI32Type();
  LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), allocateTemporary,
      LLVM::LLVMFunctionType::get(i32, {pointer, pointer, i32, builder.getI64Type(), pointer}));
}

/// The names of a kernel's parameters, each null-terminated, then an empty name.
static void defineNames(OpBuilder &builder, attn::KernelOpInterface kernel) {
  std::string names;
  for (const attn::KernelParameter &parameter : kernel.getParameters())
    names += parameter.name + '\0';
  StringAttr text = builder.getStringAttr(names + '\0');
  LLVM::GlobalOp::create(builder, kernel.getLoc(), getTextType(text), /*isConstant=*/true,
                         LLVM::Linkage::Private, getNamesSymbol(kernel.getName()), text);
}

/// Declares the function that a kernel was compiled to: a user context and one halide_buffer_t per
/// parameter.
static void declareKernel(attn::KernelOpInterface kernel, bool onDevice) {
  OpBuilder builder(kernel);
  defineNames(builder, kernel);
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  SmallVector<Type> types(onDevice ? 1 : 1 + kernel.getParameters().size(), pointer);
  std::string name = onDevice ? getPackedName(kernel.getName()) : kernel.getName().str();
  LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), name,
                           LLVM::LLVMFunctionType::get(builder.getI32Type(), types));
  kernel.erase();
}

void host::declareCallees(ModuleOp module, bool onDevice) {
  auto has = [&](auto op) {
    return module.walk([](decltype(op)) { return WalkResult::interrupt(); }).wasInterrupted();
  };
  if (has(RequireOp()))
    declareErrorHandler(module, RequirePattern::errorHandler, 2);
  if (reportsNumbers(module))
    declareErrorHandler(module, RequirePattern::numbersHandler, 3);
  if (has(host::CallOp()))
    declareNameTensors(module);
  if (has(RankOp()))
    declareExchange(module);
  if (has(AllocateOp()))
    declareAllocate(module);
  if (onDevice)
    declareDevice(module);
  for (auto kernel : llvm::make_early_inc_range(module.getOps<attn::KernelOpInterface>()))
    declareKernel(kernel, onDevice);
}

void host::populateHostToLLVMPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns, bool onDevice) {
  patterns.add<CallPattern, LoadPattern, RequirePattern, RankPattern, PlacesPattern, GatherPattern,
               AgreePattern, PassPattern, TradePattern, WaitPattern, AllocatePattern>(converter,
                                                                                      onDevice);
}
