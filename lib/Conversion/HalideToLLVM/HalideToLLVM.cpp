//===- HalideToLLVM.cpp - host functions to the LLVM dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Halide's C interface asks for is here: the layout of halide_buffer_t,
// the order of dimensions, the user context and the status. The rest of a host
// function is upstream's memref, arith and func, converted by upstream's
// patterns.
//
//===----------------------------------------------------------------------===//

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTHALIDETOLLVM
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;

//===----------------------------------------------------------------------===//
// Halide's structs
//===----------------------------------------------------------------------===//

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

/// halide_type_code_t.
static std::optional<int64_t> getTypeCode(Type element) {
  if (element.isInteger(1) || element.isUnsignedInteger())
    return 1;
  if (element.isSignlessInteger() || element.isSignedInteger())
    return 0;
  if (element.isBF16())
    return 4;
  if (isa<Float16Type, Float32Type, Float64Type>(element))
    return 2;
  return std::nullopt;
}

namespace {

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

} // namespace

/// Ends the block behind `op`: on to what follows, whose block is returned, where `ok` holds, or
/// out by what `leave` builds.
static Block *leaveUnless(ConversionPatternRewriter &rewriter, Operation *op, Value ok,
                          function_ref<void()> leave) {
  Block *before = rewriter.getInsertionBlock();
  Block *after = rewriter.splitBlock(before, std::next(op->getIterator()));
  Block *left = rewriter.createBlock(before->getParent());
  leave();
  rewriter.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(rewriter, op->getLoc(), ok, after, left);
  return after;
}

static Block *returnUnlessZero(ConversionPatternRewriter &rewriter, Operation *call, Value status) {
  Location loc = call->getLoc();
  Value zero = FieldBuilder(rewriter, loc).constant(0, 32);
  Value ok = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq, status, zero);
  return leaveUnless(rewriter, call, ok, [&] { LLVM::ReturnOp::create(rewriter, loc, status); });
}

//===----------------------------------------------------------------------===//
// halide.call
//===----------------------------------------------------------------------===//

/// Ends the lives that began in `block`.
static void endLifetimes(OpBuilder &builder, Location loc, Block *block) {
  for (auto start : llvm::to_vector(block->getOps<LLVM::LifetimeStartOp>()))
    if (llvm::none_of(start.getPtr().getUsers(), llvm::IsaPred<LLVM::LifetimeEndOp>))
      LLVM::LifetimeEndOp::create(builder, loc, start.getPtr());
}

namespace {
struct CallPattern : ConvertOpToLLVMPattern<halide::CallOp> {
  CallPattern(const LLVMTypeConverter &converter, bool onDevice)
      : ConvertOpToLLVMPattern(converter), onDevice(onDevice) {}

  LogicalResult matchAndRewrite(halide::CallOp call, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto host = call->getParentOfType<LLVM::LLVMFuncOp>();
    if (!host)
      return rewriter.notifyMatchFailure(call, "expected a converted host function");
    Block *before = rewriter.getInsertionBlock();
    if (call.getCondition()) {
      rewriter.splitBlock(before, call->getIterator());
      rewriter.setInsertionPoint(call);
    }
    SmallVector<Value> arguments{host.getArgument(0)};
    for (auto [buffer, descriptor] : llvm::zip(call.getBuffers(), adaptor.getBuffers())) {
      auto type = cast<MemRefType>(buffer.getType());
      if (!getTypeCode(type.getElementType()))
        return rewriter.notifyMatchFailure(call, "expected elements that Halide has");
      arguments.push_back(buildBuffer(rewriter, call.getLoc(), host, type, descriptor));
    }
    Value status =
        onDevice ? callOnDevice(rewriter, call.getLoc(), host, call.getCallee(), arguments)
                 : LLVM::CallOp::create(rewriter, call.getLoc(), TypeRange(rewriter.getI32Type()),
                                        call.getCallee(), arguments)
                       .getResult();
    Block *called = call->getBlock();
    endLifetimes(rewriter, call.getLoc(), called);
    Block *after = returnUnlessZero(rewriter, call, status);
    if (Value condition = adaptor.getCondition()) {
      rewriter.setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(rewriter, call.getLoc(), condition, called, after);
    }
    rewriter.eraseOp(call);
    return success();
  }

private:
  Value buildBuffer(ConversionPatternRewriter &rewriter, Location loc, LLVM::LLVMFuncOp host,
                    MemRefType type, Value memref) const;
  Value buildDimensions(ConversionPatternRewriter &rewriter, Location loc, LLVM::LLVMFuncOp host,
                        MemRefType type, MemRefDescriptor descriptor) const;
  Value callOnDevice(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, StringRef pipeline,
                     ValueRange arguments) const;

  bool onDevice;
};

} // namespace

/// The support code's, for pipelines on a GPU.
static constexpr StringLiteral deviceCall = "attnc_device_call",
                               deviceToHost = "attnc_device_to_host";

/// Halide's second entry point of a pipeline, on an array of arguments.
static std::string getPackedName(StringRef pipeline) { return (pipeline + "_argv").str(); }

/// A slot in the host function's frame, made once however often it is reached. Its life begins
/// here: calls whose slots are dead take turns in the frame.
static Value allocate(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host, Type type,
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
Value CallPattern::buildDimensions(ConversionPatternRewriter &rewriter, Location loc,
                                   LLVM::LLVMFuncOp host, MemRefType type,
                                   MemRefDescriptor descriptor) const {
  FieldBuilder structs(rewriter, loc);
  Type dimension = getDimensionType(rewriter.getContext());
  int64_t rank = type.getRank();
  if (rank == 0)
    return structs.null();
  Value dimensions = allocate(rewriter, loc, host, dimension, rank);
  Value zero = structs.constant(0, 32);
  for (int32_t i = 0; i < rank; ++i) {
    int64_t memrefDim = rank - 1 - i;
    Value extent = structs.truncate(descriptor.size(rewriter, loc, memrefDim));
    Value stride = structs.truncate(descriptor.stride(rewriter, loc, memrefDim));
    Value place = LLVM::GEPOp::create(rewriter, loc, dimensions.getType(), dimension, dimensions,
                                      ArrayRef<LLVM::GEPArg>{i});
    LLVM::StoreOp::create(rewriter, loc, structs.pack(dimension, {zero, extent, stride, zero}),
                          place);
  }
  return dimensions;
}

/// `data`, or for a tensor without elements `other`: Halide refuses null even where it reads
/// nothing.
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

Value CallPattern::buildBuffer(ConversionPatternRewriter &rewriter, Location loc,
                               LLVM::LLVMFuncOp host, MemRefType type, Value memref) const {
  FieldBuilder structs(rewriter, loc);
  MLIRContext *context = rewriter.getContext();
  MemRefDescriptor descriptor(memref);
  Value dimensions = buildDimensions(rewriter, loc, host, type, descriptor);
  Value buffer = allocate(rewriter, loc, host, getBufferType(context), 1);
  Value data = descriptor.bufferPtr(rewriter, loc, *getTypeConverter(), type);
  if (!onDevice)
    data = replaceEmpty(rewriter, loc, type, descriptor, data, buffer);
  Type element = type.getElementType();
  Value elementType =
      structs.pack(getElementType(context),
                   {structs.constant(*getTypeCode(element), 8),
                    structs.constant(element.getIntOrFloatBitWidth(), 8), structs.constant(1, 16)});
  Value zero = structs.constant(0, 64), null = structs.null();
  Value rank = structs.constant(type.getRank(), 32);
  Value value = structs.pack(getBufferType(context),
                             {zero, null, data, zero, elementType, rank, dimensions, null});
  LLVM::StoreOp::create(rewriter, loc, value, buffer);
  return buffer;
}

/// `arguments` are the user context and the buffers.
Value CallPattern::callOnDevice(OpBuilder &builder, Location loc, LLVM::LLVMFuncOp host,
                                StringRef pipeline, ValueRange arguments) const {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  ValueRange buffers = arguments.drop_front();
  Value array = allocate(builder, loc, host, pointer, buffers.size());
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, pointer, array,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
    LLVM::StoreOp::create(builder, loc, buffer, place);
  }
  Value function = LLVM::AddressOfOp::create(builder, loc, pointer, getPackedName(pipeline));
  Value count = FieldBuilder(builder, loc).constant(buffers.size(), 32);
  return LLVM::CallOp::create(builder, loc, TypeRange(builder.getI32Type()), deviceCall,
                              ValueRange{arguments.front(), function, array, count})
      .getResult();
}

//===----------------------------------------------------------------------===//
// halide.copy_to_host
//===----------------------------------------------------------------------===//

namespace {
struct CopyToHostPattern : ConvertOpToLLVMPattern<halide::CopyToHostOp> {
  CopyToHostPattern(const LLVMTypeConverter &converter, bool onDevice)
      : ConvertOpToLLVMPattern(converter), onDevice(onDevice) {}

  LogicalResult matchAndRewrite(halide::CopyToHostOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (onDevice && failed(copy(op, adaptor, rewriter)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

private:
  LogicalResult copy(halide::CopyToHostOp op, OpAdaptor adaptor,
                     ConversionPatternRewriter &rewriter) const;

  bool onDevice;
};
} // namespace

LogicalResult CopyToHostPattern::copy(halide::CopyToHostOp op, OpAdaptor adaptor,
                                      ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto host = op->getParentOfType<LLVM::LLVMFuncOp>();
  if (!host)
    return rewriter.notifyMatchFailure(op, "expected a converted host function");
  auto type = cast<MemRefType>(op.getBuffer().getType());
  MemRefDescriptor descriptor(adaptor.getBuffer());
  Value begin = descriptor.bufferPtr(rewriter, loc, *getTypeConverter(), type);
  int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Value bytes = FieldBuilder(rewriter, loc).constant(elementBytes, 64);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes = LLVM::MulOp::create(rewriter, loc, bytes, descriptor.size(rewriter, loc, dim));
  auto status = LLVM::CallOp::create(rewriter, loc, TypeRange(rewriter.getI32Type()), deviceToHost,
                                     ValueRange{host.getArgument(0), begin, bytes});
  returnUnlessZero(rewriter, op, status.getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// halide.require
//===----------------------------------------------------------------------===//

/// The status of a call that the caller got wrong.
static constexpr int64_t kInvalidCall = -1;

/// The address of a text in the module.
static Value addressOfText(OpBuilder &builder, Location loc, ModuleOp module, StringRef text) {
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  OpBuilder atTop = OpBuilder::atBlockBegin(module.getBody());
  SymbolTable symbols(module);
  auto global =
      LLVM::GlobalOp::create(atTop, loc, type, /*isConstant=*/true, LLVM::Linkage::Private,
                             "require_message", builder.getStringAttr(terminated));
  symbols.insert(global);
  return LLVM::AddressOfOp::create(builder, loc, global);
}

namespace {
/// Tells Halide's error handler and returns.
struct RequirePattern : ConvertOpToLLVMPattern<halide::RequireOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(halide::RequireOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto host = op->getParentOfType<LLVM::LLVMFuncOp>();
    auto module = op->getParentOfType<ModuleOp>();
    if (!host || !module.lookupSymbol<LLVM::LLVMFuncOp>(errorHandler))
      return rewriter.notifyMatchFailure(op, "expected a converted host function");
    leaveUnless(rewriter, op, adaptor.getCondition(), [&] {
      Value text = addressOfText(rewriter, loc, module, op.getMessage());
      LLVM::CallOp::create(rewriter, loc, TypeRange(), errorHandler,
                           ValueRange{host.getArgument(0), text});
      LLVM::ReturnOp::create(rewriter, loc, FieldBuilder(rewriter, loc).constant(kInvalidCall, 32));
    });
    rewriter.eraseOp(op);
    return success();
  }

  static constexpr StringLiteral errorHandler = "halide_error";
};
} // namespace

static void declareErrorHandler(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointer, pointer});
  LLVM::LLVMFuncOp::create(builder, module.getLoc(), RequirePattern::errorHandler, type);
}

//===----------------------------------------------------------------------===//
// Host functions
//===----------------------------------------------------------------------===//

/// The user context comes first, the status is returned. Attributes are the
/// spec's, not the LLVM dialect's.
static LogicalResult addContextAndStatus(func::FuncOp host) {
  auto pointer = LLVM::LLVMPointerType::get(host.getContext());
  host.removeArgAttrsAttr();
  auto discardable = llvm::to_vector(host->getDiscardableAttrs());
  for (NamedAttribute attr : discardable)
    host->removeDiscardableAttr(attr.getName());
  auto status = IntegerType::get(host.getContext(), 32);
  if (failed(host.insertArgument(0, pointer, {}, host.getLoc())) ||
      failed(host.insertResult(0, status, {})))
    return failure();
  auto back = cast<func::ReturnOp>(host.getBody().front().getTerminator());
  OpBuilder builder(back);
  Value zero = arith::ConstantIntOp::create(builder, back.getLoc(), 0, 32);
  back.getOperandsMutable().assign(zero);
  return success();
}

/// The function `size` of `host`, whose arguments it takes but for the last.
static FailureOr<func::FuncOp> findSizeFunction(ModuleOp module, func::FuncOp host) {
  auto size = module.lookupSymbol<func::FuncOp>((host.getSymName() + "_workspace").str());
  for (auto alloc : host.getBody().getOps<memref::AllocOp>())
    return alloc.emitOpError(
        "expected temporaries in a workspace; run halide-plan-workspace first");
  if (!size || !host.getBody().hasOneBlock() ||
      size.getNumArguments() + 1 != host.getNumArguments())
    return host.emitOpError("expected @")
           << host.getSymName() << "_workspace beside it; run halide-plan-workspace first";
  return size;
}

/// Whether a buffer holds elements; null where its type says that it does.
static Value buildHasElements(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.hasStaticShape() && type.getNumElements() > 0)
    return Value();
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    count = arith::MulIOp::create(builder, loc, count,
                                  memref::DimOp::create(builder, loc, buffer, dim));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, count, zero);
}

/// A pipeline runs only where it has something to write: its vectors and tiles reach beyond
/// dimensions of no elements, which Halide refuses.
static void skipEmptyOutputs(halide::CallOp call) {
  auto pipeline =
      SymbolTable::lookupNearestSymbolFrom<halide::PipelineOp>(call, call.getCalleeAttr());
  size_t outputs = llvm::range_size(pipeline.getBody().getOps<halide::OutputOp>());
  OpBuilder builder(call);
  Value any;
  for (Value output : call.getBuffers().take_back(outputs)) {
    Value some = buildHasElements(builder, call.getLoc(), output);
    if (!some)
      return;
    any = any ? arith::OrIOp::create(builder, call.getLoc(), any, some).getResult() : some;
  }
  if (Value condition = call.getCondition())
    any = arith::AndIOp::create(builder, call.getLoc(), condition, any);
  call.getConditionMutable().assign(any);
}

static void declareDevice(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i32 = builder.getI32Type();
  auto declare = [&](StringRef name, ArrayRef<Type> arguments) {
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                             LLVM::LLVMFunctionType::get(i32, arguments));
  };
  declare(deviceCall, {pointer, pointer, pointer, i32});
  declare(deviceToHost, {pointer, pointer, builder.getI64Type()});
}

/// What is called takes a user context and one halide_buffer_t an operand.
static void declarePipelines(ModuleOp module, bool onDevice) {
  auto pipelines = llvm::to_vector(module.getOps<halide::PipelineOp>());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto status = IntegerType::get(module.getContext(), 32);
  llvm::StringMap<unsigned> buffers;
  module.walk([&](halide::CallOp call) { buffers[call.getCallee()] = call.getBuffers().size(); });
  for (halide::PipelineOp pipeline : pipelines) {
    OpBuilder builder(pipeline);
    SmallVector<Type> types(buffers.lookup(pipeline.getSymName()) + 1, pointer);
    if (types.size() > 1 && onDevice)
      LLVM::LLVMFuncOp::create(builder, pipeline.getLoc(), getPackedName(pipeline.getSymName()),
                               LLVM::LLVMFunctionType::get(status, {pointer}));
    else if (types.size() > 1)
      LLVM::LLVMFuncOp::create(builder, pipeline.getLoc(), pipeline.getSymName(),
                               LLVM::LLVMFunctionType::get(status, types));
    pipeline.erase();
  }
}

namespace {

/// A function on memrefs and its entry point on pointers to descriptors.
struct Entry {
  std::string function;
  SmallVector<MemRefType> memrefs;
  bool hasContext;
};

struct ConvertHalideToLLVMPass : mlir::impl::ConvertHalideToLLVMBase<ConvertHalideToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(prepare()) || failed(convert()))
      return signalPassFailure();
    LLVMTypeConverter converter(&getContext());
    for (const Entry &entry : entries)
      emitEntry(converter, entry);
  }

private:
  LogicalResult prepare();
  LogicalResult convert();
  void emitEntry(const LLVMTypeConverter &converter, const Entry &entry);

  SmallVector<Entry> entries;
};

} // namespace

static SmallVector<MemRefType> getMemRefs(func::FuncOp function) {
  return llvm::map_to_vector(function.getArgumentTypes(),
                             [](Type type) { return dyn_cast<MemRefType>(type); });
}

LogicalResult ConvertHalideToLLVMPass::prepare() {
  entries.clear();
  for (auto host : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (host.isExternal() || host.getNumResults() != 0)
      continue;
    FailureOr<func::FuncOp> size = findSizeFunction(getOperation(), host);
    if (failed(size))
      return failure();
    for (func::FuncOp function : {host, *size})
      entries.push_back({function.getSymName().str(), getMemRefs(function), function == host});
    size->removeArgAttrsAttr();
    if (llvm::is_contained(entries.back().memrefs, MemRefType()))
      return host.emitOpError("expected memrefs as arguments, found ") << host.getFunctionType();
    if (failed(addContextAndStatus(host)))
      return failure();
  }
  bool hasRequirement = getOperation()
                            .walk([](halide::RequireOp) { return WalkResult::interrupt(); })
                            .wasInterrupted();
  if (hasRequirement)
    declareErrorHandler(getOperation());
  getOperation().walk(skipEmptyOutputs);
  if (onDevice)
    declareDevice(getOperation());
  declarePipelines(getOperation(), onDevice);
  return success();
}

LogicalResult ConvertHalideToLLVMPass::convert() {
  RewritePatternSet views(&getContext());
  memref::populateExpandStridedMetadataPatterns(views);
  memref::populateResolveExtractStridedMetadataPatterns(views);
  arith::populateArithExpandOpsPatterns(views);
  if (failed(applyPatternsGreedily(getOperation(), std::move(views))))
    return failure();

  LLVMTypeConverter converter(&getContext());
  RewritePatternSet patterns(&getContext());
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateAffineToStdConversionPatterns(patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  patterns.add<RequirePattern>(converter);
  patterns.add<CallPattern, CopyToHostPattern>(converter, onDevice);
  LLVMConversionTarget target(getContext());
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(getOperation(), target, std::move(patterns));
}

/// Loads the descriptors and calls the function on what they unpack to.
void ConvertHalideToLLVMPass::emitEntry(const LLVMTypeConverter &converter, const Entry &entry) {
  auto callee = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(entry.function);
  Location loc = callee.getLoc();
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(callee);
  callee.setLinkage(LLVM::Linkage::Internal);
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SmallVector<Type> types(entry.hasContext ? 2 : 1, pointer);
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, entry.function + "_host",
      LLVM::LLVMFunctionType::get(callee.getFunctionType().getReturnType(), types));
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);

  SmallVector<Value> arguments;
  if (entry.hasContext)
    arguments.push_back(body->getArgument(0));
  Value descriptors = body->getArguments().back();
  for (auto [position, type] : llvm::enumerate(entry.memrefs)) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, pointer, descriptors,
                                      ArrayRef<LLVM::GEPArg>{int32_t(position)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, place);
    Value descriptor =
        LLVM::LoadOp::create(builder, loc, converter.convertType(MemRefType(type)), address);
    MemRefDescriptor::unpack(builder, loc, descriptor, type, arguments);
  }
  auto call = LLVM::CallOp::create(builder, loc, callee, arguments);
  LLVM::ReturnOp::create(builder, loc, call.getResult());
}
