//===- Spec.cpp - the module a command works on ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Spec/Spec.h"

#include "Constants.h"
#include "DiagnosticPrinter.h"
#include "SourceNames.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Reproducer.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Halide/Halide.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Import/Onnx/Import.h"
#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Pipelines/SpecText.h"
#include "attnc/Target/Halide/Export.h"
#include "attnc/Target/NVPTX/Export.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace attnc;

static DialectRegistry getRegistry() {
  DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  cuda::registerKernelTarget(registry);
  halide::registerKernelTarget(registry);
  return registry;
}

Spec::Spec(SpecSource source) : source(std::move(source)), context(getRegistry()) {
  context.printOpOnDiagnostic(false);
  printer = std::make_unique<DiagnosticPrinter>(sources, &context);
}
Spec::~Spec() = default;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::unique_ptr<Spec> Spec::load(const SpecSource &source) {
  std::unique_ptr<Spec> spec(new Spec(source));
  if (failed(spec->parse()) || failed(checkConstants(*spec->module)) ||
      failed(spec->selectFunction()) || failed(spec->checkFunction()) ||
      failed(spec->bindWeights()))
    return nullptr;
  return spec;
}

bool attnc::isModel(StringRef path) { return path.ends_with(".onnx"); }

LogicalResult Spec::parse() {
  if (source.path.empty())
    return reportUsage("attnc", "expected a SPEC, found none; --help shows examples");
  if (isModel(source.path))
    return importModel();
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(source.path, /*IsText=*/false);
  if (!file)
    return reportError(source.path, "cannot read: " + file.getError().message());
  prepareReproducer((*file)->getBuffer());
  if ((*file)->getBuffer().trim().empty())
    return reportError(source.path, "expected a function, found an empty file");
  if (failed(checkText((*file)->getMemBufferRef())))
    return failure();
  bool hasText = !isBytecode((*file)->getMemBufferRef());
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  if (hasText)
    return parseText();
  module = parseSourceFile<ModuleOp>(sources, &context);
  return success(module.get() != nullptr);
}

LogicalResult Spec::checkText(llvm::MemoryBufferRef spec) {
  auto refusal = mlir::attn::checkSpecText(spec, source.allowBytecode);
  if (!refusal)
    return success();
  if (refusal->line == 0)
    return reportError(source.path, refusal->message);
  return reportError(source.path + ":" + Twine(refusal->line) + ":" + Twine(refusal->column),
                     refusal->message);
}

LogicalResult Spec::parseText() {
  AsmParserState state;
  Block block;
  if (failed(parseAsmSourceFile(sources, &block, &context, &state)))
    return failure();
  module = mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &block, &context, FileLineColLoc::get(&context, source.path, 0, 0));
  if (!module)
    return failure();
  nameFromSource(*module, state);
  return success();
}

/// Prepares the reproducer for a crash while importing. A model's weights would not fit into it.
static void prepareForImport(StringRef path) {
  constexpr uint64_t mostBytes = 1 << 26;
  uint64_t size = 0;
  if (llvm::sys::fs::file_size(path, size) || size > mostBytes)
    return prepareReproducer("// The model is too large to be here.\n");
  if (auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false))
    prepareModelReproducer((*file)->getBuffer());
}

LogicalResult Spec::importModel() {
  prepareForImport(source.path);
  module = mlir::attn::importOnnx(source.path, &context);
  if (!module)
    return failure();
  // A reproducer holds the graph; a model's weights would not fit into it.
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().elideLargeElementsAttrs().elideLargeResourceString());
  prepareReproducer(text);
  return success();
}

/// Public functions with a body, in order.
static SmallVector<func::FuncOp> getCandidates(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !function.isPrivate())
      functions.push_back(function);
  return functions;
}

static std::string listNames(ArrayRef<func::FuncOp> functions) {
  auto names = llvm::map_range(functions, [](func::FuncOp f) { return f.getName().str(); });
  return llvm::join(names, ", ");
}

/// The inliner leaves recursive calls and calls of declarations.
static LogicalResult checkCalls(func::FuncOp function) {
  WalkResult result = function.walk([](func::CallOp call) {
    call.emitError("expected a call of a non-recursive function with a body, found @")
        << call.getCallee();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Kernels clamp indices that depend on data; a constant out of range is a mistake.
static LogicalResult checkRead(tensor::ExtractOp read) {
  ArrayRef<int64_t> shape = read.getTensor().getType().getShape();
  for (auto [dim, index, size] : llvm::enumerate(read.getIndices(), shape)) {
    std::optional<int64_t> known = getConstantIntValue(index);
    if (!known || (*known >= 0 && (*known < size || ShapedType::isDynamic(size))))
      continue;
    InFlightDiagnostic error = read.emitError("expected index ") << dim << " to be at least 0";
    if (!ShapedType::isDynamic(size))
      error << " and below " << size;
    return error << ", found " << *known;
  }
  return success();
}

static LogicalResult checkScalars(Operation *op) {
  for (Type type : op->getResultTypes())
    if (type.isInteger() && type.getIntOrFloatBitWidth() > 64)
      return op->emitError("expected integers of at most 64 bits, found ") << type;
  return success();
}

/// Refuses what no kernel computes. Called for the spec as written, where locations are exact, and
/// for the simplified one, where more indices are constants.
static LogicalResult checkRegions(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    auto read = dyn_cast<tensor::ExtractOp>(op);
    return failed(checkScalars(op)) || (read && failed(checkRead(read))) ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Spec::selectFunction() {
  SmallVector<func::FuncOp> functions = getCandidates(*module);
  if (functions.empty())
    return reportError(source.path, "expected a function, found none");
  if (source.function.empty() && functions.size() > 1)
    return reportError(source.path, "expected one function, or --function to choose one of " +
                                        listNames(functions) + ", found " +
                                        Twine(functions.size()));
  func::FuncOp wanted = functions.front();
  if (!source.function.empty()) {
    auto it = llvm::find_if(functions, [&](auto f) { return f.getName() == source.function; });
    if (it == functions.end())
      return reportError(source.path, "expected a function '" + source.function + "', found " +
                                          listNames(functions));
    wanted = *it;
  }
  function = wanted.getName().str();
  if (failed(checkRegions(wanted)))
    return failure();
  // Private functions that it doesn't call are dropped.
  for (func::FuncOp other : functions)
    if (other != wanted)
      other.setPrivate();
  PassManager passes(&context);
  mlir::attn::buildGraphPipeline(passes);
  return success(succeeded(run(passes, *module)) && succeeded(checkCalls(wanted)) &&
                 succeeded(checkRegions(wanted)));
}

static LogicalResult checkWritesResult(func::FuncOp function) {
  auto isResult = [&](unsigned n) -> bool {
    return function.getArgAttr(n, mlir::attn::kResultAttr) != nullptr;
  };
  if (llvm::any_of(llvm::seq(function.getNumArguments()), isResult))
    return success();
  return function.emitError("expected an argument with attn.result, found buffers without one");
}

/// A call passes tensors, of elements that buffers hold.
static LogicalResult checkTensor(Location loc, StringRef kind, size_t index, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(loc, "expected ")
           << kind << ' ' << index << " to be a ranked tensor, found " << type;
  if (!halide::isBufferElementType(tensor.getElementType()))
    return emitError(loc, "expected ") << halide::kBufferElementTypes << " as elements of " << kind
                                       << ' ' << index << ", found " << tensor.getElementType();
  return success();
}

LogicalResult Spec::checkFunction() {
  func::FuncOp func = getFunction();
  bool onBuffers = mlir::host::isHostFunction(func);
  stage = onBuffers ? Stage::Scheduled : Stage::Graph;
  if (onBuffers)
    return checkWritesResult(func);
  for (BlockArgument argument : func.getArguments())
    if (failed(checkTensor(argument.getLoc(), "argument", argument.getArgNumber(),
                           argument.getType())))
      return failure();
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(checkTensor(func.getLoc(), "result", index, type)))
      return failure();
  if (func.getNumResults() == 0)
    return func.emitError("expected at least one result, found none");
  return success();
}

LogicalResult Spec::bindWeights() {
  if (source.weights.empty())
    return success();
  func::FuncOp func = getFunction();
  if (stage == Stage::Scheduled)
    return reportError("--weights", "expected a graph to bind weights in, found halide pipelines");
  auto arguments = llvm::seq(func.getNumArguments());
  if (llvm::none_of(arguments,
                    [&](unsigned n) { return func.getArgAttr(n, mlir::attn::kWeightAttr); }))
    return reportError("--weights",
                       "expected an argument with attn.weight, found none in @" + func.getName());
  mlir::attn::AttnBindWeightsOptions options;
  options.files.assign(source.weights.begin(), source.weights.end());
  PassManager passes(&context);
  passes.addPass(mlir::attn::createAttnBindWeights(options));
  return run(passes, *module);
}

void Spec::restore(const State &state) {
  module = state.module.get().clone();
  stage = state.stage;
}

func::FuncOp Spec::getFunction() { return module->lookupSymbol<func::FuncOp>(function); }

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

LogicalResult Spec::run(PassManager &passes, ModuleOp copy) {
  // The module is verified after all passes and not in between, so that errors in the input are
  // told from defects of a pass.
  passes.enableVerifier(false);
  if (failed(passes.run(copy)))
    return failure();
  if (failed(mlir::verify(copy)))
    return reportInternal("a pass left invalid IR");
  return success();
}

LogicalResult Spec::simplify() {
  if (stage == Stage::Scheduled)
    return success();
  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  return run(passes, *module);
}

LogicalResult Spec::lower(ModuleOp copy, Stage to, StringRef target, bool remarks) {
  mlir::attn::AttnPipelineOptions options;
  options.target = target.str();
  options.schedules = source.schedules;
  options.cluster = source.cluster;
  options.remarks = remarks;
  PassManager passes(&context);
  if (stage == Stage::Graph)
    mlir::attn::buildFusionPipeline(passes, options);
  if (to == Stage::Scheduled)
    mlir::attn::buildSchedulePipeline(passes, options);
  return run(passes, copy);
}

LogicalResult Spec::lower(Stage to, StringRef target, bool remarks) {
  if (stage >= to)
    return success();
  LogicalResult result = lower(*module, to, target, remarks);
  stage = to;
  return result;
}

OwningOpRef<ModuleOp> Spec::getLowered(Stage to, StringRef target) {
  OwningOpRef<ModuleOp> copy(module->clone());
  if (stage < to && failed(lower(*copy, to, target, /*remarks=*/false)))
    return nullptr;
  return copy;
}
