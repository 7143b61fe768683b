//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the object that `attnc compile` archives, linked to a shared library and called through its
// C function. `--reference` evaluates the graph instead.
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"
#include "OutputFiles.h"
#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Execution/Graph.h"
#include "attnc/Execution/Kernel.h"
#include "attnc/Execution/Npy.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace attnc;
using mlir::attn::NamedTensor;

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

/// The type in which a result is shown and written.
static Type getOutputType(const Parameter &output, bool keepF64) {
  bool widened = keepF64 && isa<FloatType>(output.elementType);
  return widened ? Float64Type::get(output.elementType.getContext()) : output.elementType;
}

static LogicalResult checkOutputs(const Signature &signature, const RunInvocation &invocation) {
  for (const OutputFile &option : invocation.outputs) {
    FailureOr<size_t> index = findParameter(signature.outputs, option.name, "--output");
    if (failed(index))
      return failure();
    Type type = getOutputType(signature.outputs[*index], invocation.keepF64);
    if (!isSafetensors(option.path) && !hasDtype(type)) {
      std::string found;
      llvm::raw_string_ostream(found) << type;
      return reportError("--output", option.name + ": expected a type that .npy has, found " +
                                         found + ", which FILE.safetensors has");
    }
  }
  return success();
}

static LogicalResult writeOutputs(const Signature &signature, ArrayRef<OutputFile> options,
                                  ArrayRef<Tensor> outputs) {
  llvm::MapVector<StringRef, std::vector<NamedTensor>> files;
  for (const OutputFile &option : options) {
    const Tensor &tensor = outputs[*findParameter(signature.outputs, option.name, "--output")];
    if (isSafetensors(option.path))
      files[option.path].push_back({option.name, tensor.getElementType(), tensor.getShape(),
                                    StringRef(tensor.data(), tensor.numBytes())});
    else if (failed(writeFile(option.path, writeNpy(tensor))))
      return failure();
  }
  for (auto &[path, tensors] : files)
    if (failed(writeTensors(path, tensors)))
      return failure();
  if (options.empty())
    for (auto [parameter, tensor] : llvm::zip(signature.outputs, outputs))
      printSummary(parameter.name, tensor);
  return success();
}

static FailureOr<std::vector<Tensor>> evaluate(Graph &graph, const Signature &signature,
                                               ArrayRef<Tensor> inputs, bool keepF64) {
  auto arrays = graph.evaluate(makeArrays(inputs), mlir::attn::reference::Arithmetic::Exact);
  if (failed(arrays))
    return failure();
  std::vector<Tensor> outputs;
  for (auto [output, array] : llvm::zip_equal(signature.outputs, *arrays))
    outputs.push_back(makeTensor(array, getOutputType(output, keepF64)));
  return outputs;
}

static FailureOr<std::vector<Tensor>> compileAndRun(Spec &spec, StringRef target,
                                                    const RunInvocation &invocation,
                                                    const Signature &signature, const Sizes &sizes,
                                                    ArrayRef<Tensor> inputs) {
  func::FuncOp graph = spec.getStage() == Stage::Scheduled ? func::FuncOp() : spec.getFunction();
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(signature, sizes, graph, inputs, spec.getPath());
  FailureOr<std::string> cacheDir =
      succeeded(outputs) ? openCache(invocation.useCache) : FailureOr<std::string>();
  if (failed(cacheDir))
    return failure();
  limitThreads(invocation.threads);
  std::unique_ptr<Kernel> kernel = Kernel::compile(spec, target, *cacheDir);
  if (!kernel || failed(kernel->call(inputs, *outputs)))
    return failure();
  return outputs;
}

LogicalResult attnc::run(const RunInvocation &invocation) {
  if (invocation.keepF64 && !invocation.useReference)
    return reportUsage("--f64",
                       "expected --reference with it: kernels compute in the spec's types");
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  FailureOr<std::string> target =
      spec ? resolveTarget(invocation.target) : FailureOr<std::string>();
  if (failed(target) || failed(checkRunsHere(*target)))
    return failure();
  FailureOr<Graph> graph = invocation.useReference ? Graph::copy(*spec) : FailureOr<Graph>();
  if ((invocation.useReference && failed(graph)) || failed(spec->lower(Stage::Fused, *target)))
    return failure();
  Signature signature = spec->getSignature();
  if (failed(checkOutputs(signature, invocation)))
    return failure();
  Sizes sizes;
  FailureOr<std::vector<Tensor>> inputs =
      makeInputs(signature, invocation.inputs, invocation.seed, sizes);
  if (failed(inputs))
    return failure();
  FailureOr<std::vector<Tensor>> outputs =
      invocation.useReference
          ? evaluate(*graph, signature, *inputs, invocation.keepF64)
          : compileAndRun(*spec, *target, invocation, signature, sizes, *inputs);
  if (failed(outputs))
    return failure();
  return writeOutputs(signature, invocation.outputs, *outputs);
}
