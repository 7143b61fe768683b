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

#include "Evaluate.h"
#include "Files.h"
#include "Inputs.h"
#include "Kernel.h"
#include "Npy.h"
#include "Options.h"
#include "Spec.h"

#include "attnc/Diagnostics/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::list<std::string> outputTexts("output", cl::value_desc("NAME=@y.npy"),
                                         cl::desc("Where a result is written"), cl::cat(category()),
                                         cl::sub(runCommand()));
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
// Results
//===----------------------------------------------------------------------===//

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

static FailureOr<std::vector<Tensor>> evaluate(Graph &graph, const Signature &signature,
                                               ArrayRef<Tensor> inputs) {
  auto arrays = graph.evaluate(makeArrays(inputs), mlir::attn::reference::Arithmetic::Exact);
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
  FailureOr<std::vector<Tensor>> outputs = makeOutputs(
      signature, sizes, spec.getStage() == Stage::Scheduled ? func::FuncOp() : spec.getFunction(),
      inputs);
  if (failed(outputs))
    return failure();
  limitThreads(threads);
  std::unique_ptr<Kernel> kernel = Kernel::compile(spec, target);
  if (!kernel || failed(kernel->call(inputs, *outputs)))
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
  if (failed(target) || failed(checkRunsHere(*target)))
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
