//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs is what ships: the object that `attnc compile` archives, linked to a
// shared library and called through its C function. `--reference` evaluates the
// graph instead.
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Evaluate.h"
#include "Files.h"
#include "Inputs.h"
#include "Kernel.h"
#include "Npy.h"
#include "Options.h"
#include "Report.h"
#include "Spec.h"

#include "attnc/Dialect/Halide/Halide.h"
#include "attnc/Target/Halide/Export.h"
#include "attnc/Target/Library/Library.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::list<std::string> inputTexts("input",
                                        cl::value_desc("NAME=@x.npy|random:2x8|zeros|ones"),
                                        cl::desc("What an argument holds"), cl::cat(category()),
                                        cl::sub(runCommand()));
static cl::list<std::string> outputTexts("output", cl::value_desc("NAME=@y.npy"),
                                         cl::desc("Where a result is written"), cl::cat(category()),
                                         cl::sub(runCommand()));
static cl::opt<uint64_t> seed("seed", cl::init(0), cl::value_desc("N"),
                              cl::desc("Seed of random inputs (default: 0)"), cl::cat(category()),
                              cl::sub(runCommand()));
static cl::opt<unsigned> threads("threads", cl::init(0), cl::value_desc("N"),
                                 cl::desc("How many threads compute (default: all cores)"),
                                 cl::cat(category()), cl::sub(runCommand()));

static cl::opt<bool>
    useReference("reference",
                 cl::desc("Evaluate the graph in float64 with plain loops instead of compiling it"),
                 cl::cat(category()), cl::sub(runCommand()));
static cl::opt<bool> keepF64("f64", cl::desc("With --reference: leave float results in float64"),
                             cl::cat(category()), cl::sub(runCommand()));

static constexpr llvm::StringLiteral examples = R"(
Inputs are .npy files, or random, zeros or ones of a shape. Names are those that SPEC gives
its arguments and results (attn.name), else arg0, arg1, … and out0, out1, …. Random floats
are normal, integers small and not negative. What is not given is random where its shape is
known. Without --output each result's shape, dtype and a summary are printed.

Examples:
  attnc run spec.mlir --input query=@q.npy --input key=@k.npy --input value=@v.npy \
                      --output context=@c.npy
  attnc run spec.mlir --input query=random:2x8x128x64 --seed 7
  attnc run tuned.mlir --threads 1
  attnc run spec.mlir --reference --f64 --input query=@q.npy --output context=@exact.npy
)";

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static std::string getFileName(StringRef object) {
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(object));
  return "run-" + llvm::toHex(digest, /*LowerCase=*/true) + ".so";
}

/// The library's shared form: in the cache where there is one, else in `temporary`.
static FailureOr<std::string> link(const mlir::attn::Library &library, StringRef cacheDir,
                                   Staging &temporary, Location loc) {
  std::string name = getFileName(library.object);
  SmallString<128> path(cacheDir);
  if (cacheDir.empty())
    path = temporary.add(name);
  else
    llvm::sys::path::append(path, name);
  if (!llvm::sys::fs::exists(path) && failed(writeSharedLibrary(library, path, loc)))
    return failure();
  return path.str().str();
}

static LogicalResult compileAndCall(Spec &spec, StringRef target, ArrayRef<Tensor> inputs,
                                    ArrayRef<Tensor> outputs) {
  FailureOr<std::string> cacheDir = openCache();
  FailureOr<std::string> name = getLibraryName(spec.getFunction().getName());
  std::unique_ptr<Staging> temporary = Staging::openTemporary();
  if (failed(cacheDir) || failed(name) || !temporary)
    return failure();
  if (threads > 0)
    ::setenv("HL_NUM_THREADS", std::to_string(threads).c_str(), /*overwrite=*/1);
  mlir::attn::LibraryOptions options;
  options.name = *name;
  options.function = spec.getFunction().getName().str();
  options.target = target.str();
  options.cacheDir = *cacheDir;
  Location loc = spec.getFunction().getLoc();
  FailureOr<mlir::attn::Library> library = buildLibrary(spec, options);
  if (failed(library))
    return failure();
  FailureOr<std::string> path = link(*library, *cacheDir, *temporary, loc);
  if (failed(path))
    return failure();
  return callKernel(*path, *name, inputs, outputs);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static FailureOr<std::vector<Tensor>> makeOutputs(const Signature &signature, const Sizes &sizes) {
  std::vector<Tensor> tensors;
  for (const Parameter &output : signature.outputs) {
    auto shape = sizes.getShape(output);
    if (!shape)
      return reportError(specPath, "expected attn.dims of result " + output.name +
                                       " to name sizes of the arguments, found " +
                                       describe(output));
    if (!getNumElements(*shape))
      return reportError(specPath, "expected result " + output.name +
                                       " to fit into memory, found " + describe(*shape));
    tensors.emplace_back(output.elementType, *shape);
  }
  return tensors;
}

/// `context: f32[2, 8, 49, 64]  min -3.1  max 2.9  mean 0.002  finite 50176 of 50176  first …`
static void printSummary(StringRef name, const Tensor &tensor) {
  double least = INFINITY, most = -INFINITY, sum = 0;
  int64_t finite = 0;
  for (int64_t index = 0; index < tensor.size(); ++index) {
    double value = tensor.get(index);
    if (!std::isfinite(value))
      continue;
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++finite;
  }
  llvm::raw_ostream &os = llvm::outs();
  os << name << ": " << tensor.getElementType() << '[';
  llvm::interleaveComma(tensor.getShape(), os);
  os << ']';
  if (finite > 0)
    os << llvm::format("  min %.6g  max %.6g  mean %.6g", least, most, sum / finite);
  os << "  finite " << finite << " of " << tensor.size() << "\n  first";
  for (int64_t index = 0; index < std::min<int64_t>(tensor.size(), 8); ++index)
    os << llvm::format(" %.6g", tensor.get(index));
  os << '\n';
}

/// The type that a result is shown and written in.
static Type getOutputType(const Parameter &output) {
  bool widened = keepF64 && isa<FloatType>(output.elementType);
  return widened ? Float64Type::get(output.elementType.getContext()) : output.elementType;
}

static LogicalResult checkOutputs(const Signature &signature, ArrayRef<OutputOption> options) {
  for (const OutputOption &option : options) {
    FailureOr<size_t> index = findParameter(signature.outputs, option.name, "--output");
    if (failed(index))
      return failure();
    if (Type type = getOutputType(signature.outputs[*index]); !hasDtype(type)) {
      std::string found;
      llvm::raw_string_ostream(found) << type;
      return reportError("--output",
                         option.name + ": expected a type that .npy has, found " + found);
    }
  }
  return success();
}

static LogicalResult writeOutputs(const Signature &signature, ArrayRef<OutputOption> options,
                                  ArrayRef<Tensor> outputs) {
  for (const OutputOption &option : options) {
    size_t index = *findParameter(signature.outputs, option.name, "--output");
    if (failed(writeFile(option.path, writeNpy(outputs[index]))))
      return failure();
  }
  if (options.empty())
    for (auto [parameter, tensor] : llvm::zip(signature.outputs, outputs))
      printSummary(parameter.name, tensor);
  return success();
}

/// What is compiled must run here.
static LogicalResult checkTarget(StringRef target) {
  std::string error;
  FailureOr<std::string> host = halide::resolveTarget("host", error);
  auto getMachine = [](StringRef name) {
    SmallVector<StringRef> parts;
    name.split(parts, '-');
    return llvm::join(ArrayRef(parts).take_front(3), "-");
  };
  if (succeeded(host) && getMachine(*host) != getMachine(target))
    return reportError("--target", "expected a target of this machine, " + getMachine(*host) +
                                       ", found " + target);
  return success();
}

static FailureOr<std::vector<Tensor>> evaluate(Graph &graph, const Signature &signature,
                                               ArrayRef<Tensor> inputs) {
  auto arrays = graph.evaluate(inputs, mlir::attn::reference::Arithmetic::Exact);
  if (failed(arrays))
    return failure();
  std::vector<Tensor> outputs;
  for (auto [output, array] : llvm::zip_equal(signature.outputs, *arrays))
    outputs.push_back(makeTensor(array, getOutputType(output)));
  return outputs;
}

static FailureOr<std::vector<Tensor>> compileAndRun(Spec &spec, StringRef target,
                                                    const Signature &signature, const Sizes &sizes,
                                                    ArrayRef<Tensor> inputs) {
  FailureOr<std::vector<Tensor>> outputs = makeOutputs(signature, sizes);
  if (failed(outputs) || failed(spec.lower(Stage::Scheduled, target)) ||
      failed(compileAndCall(spec, target, inputs, *outputs)))
    return failure();
  return outputs;
}

static LogicalResult runRun() {
  if (keepF64 && !useReference)
    return reportUsage("--f64",
                       "expected --reference with it: kernels compute in the spec's types");
  FailureOr<std::vector<InputOption>> inputOptions = parseInputs(inputTexts);
  FailureOr<std::vector<OutputOption>> outputOptions = parseOutputs(outputTexts);
  if (failed(inputOptions) || failed(outputOptions))
    return failure();
  std::unique_ptr<Spec> spec = Spec::load();
  FailureOr<std::string> target = spec ? getTarget() : FailureOr<std::string>();
  if (failed(target) || failed(checkTarget(*target)))
    return failure();
  FailureOr<Graph> graph = useReference ? Graph::copy(*spec) : FailureOr<Graph>();
  if ((useReference && failed(graph)) || failed(spec->lower(Stage::Fused, *target)))
    return failure();
  Signature signature = spec->getSignature();
  if (failed(checkOutputs(signature, *outputOptions)))
    return failure();
  Sizes sizes;
  FailureOr<std::vector<Tensor>> inputs = makeInputs(signature, *inputOptions, seed, sizes);
  if (failed(inputs))
    return failure();
  FailureOr<std::vector<Tensor>> outputs =
      useReference ? evaluate(*graph, signature, *inputs)
                   : compileAndRun(*spec, *target, signature, sizes, *inputs);
  if (failed(outputs))
    return failure();
  return writeOutputs(signature, *outputOptions, *outputs);
}

const Command attnc::run = {runCommand(), runRun, examples};
