//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times the kernel of `attnc run` for several sizes. A row is one choice of sizes.
//
//===----------------------------------------------------------------------===//

#include "BenchReport.h"
#include "CacheFolder.h"
#include "Targets.h"
#include "TimedInputs.h"
#include "Timing.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Execution/Graph.h"
#include "attnc/Execution/InputMaker.h"
#include "attnc/Execution/Kernel.h"
#include "attnc/Machine/Target.h"

#include "llvm/Support/Threading.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace attnc;

namespace {
/// State common to all rows.
struct Bench {
  Spec &spec;
  Kernel &kernel;
  /// Null, and no FLOPs, for a scheduled spec.
  func::FuncOp graph;
  std::optional<SymbolicCount> flops;
  double seconds;
  bool isCold;
  /// None of a GPU.
  std::optional<MachineLimits> limits;
};
} // namespace

static std::optional<MachineLimits> findLimits(StringRef target, unsigned threads) {
  if (mlir::attn::Target(target).hasGpu())
    return std::nullopt;
  return mlir::attn::measureLimits(threads ? threads
                                           : llvm::hardware_concurrency().compute_thread_count());
}

static SmallVector<CalledKernel> getCalled(Spec &spec, ArrayRef<Tensor> inputs,
                                           ArrayRef<Tensor> outputs) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (const Tensor &tensor : llvm::concat<const Tensor>(inputs, outputs))
    shapes.push_back(tensor.getShape());
  return getCalledKernels(spec.getFunction(), shapes);
}

/// The shortest time that one of `calls` more calls spends in each kernel.
static FailureOr<SmallVector<ProfileLine>> profile(Bench &bench, TimedInputs &inputs,
                                                   ArrayRef<Tensor> outputs, size_t calls) {
  MutableArrayRef<KernelTime> times = bench.kernel.getProfile();
  SmallVector<KernelTime> shortest(times.size(), {std::numeric_limits<int64_t>::max(), 0});
  for (size_t count = 0; count < calls && !times.empty(); ++count) {
    llvm::fill(times, KernelTime{});
    if (failed(bench.kernel.callInPlace(inputs.next(), outputs)))
      return failure();
    for (auto [time, least] : llvm::zip(times, shortest))
      if (time.nanoseconds < least.nanoseconds)
        least = time;
  }
  SmallVector<ProfileLine> lines;
  auto module = bench.spec.getFunction()->getParentOfType<ModuleOp>();
  for (auto [kernel, time] : llvm::zip(module.getOps<mlir::attn::KernelOpInterface>(), shortest))
    if (time.calls)
      lines.push_back({kernel.getName(), 1e-9 * time.nanoseconds, time.calls});
  return lines;
}

static FailureOr<Row> timeRow(Bench &bench, InputMaker &maker, const Dims &dims) {
  Sizes sizes = makeSizes(dims, "--size");
  FailureOr<std::vector<Tensor>> made = maker.make(sizes);
  if (failed(made))
    return failure();
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(maker.getSignature(), sizes, bench.graph, *made, bench.spec.getPath());
  if (failed(outputs))
    return failure();
  TimedInputs inputs(std::move(*made), bench.isCold);
  FailureOr<Times> times =
      sample([&] { return bench.kernel.callInPlace(inputs.next(), *outputs); }, bench.seconds);
  FailureOr<int64_t> workspace = bench.kernel.getWorkspace(inputs.getFirst(), *outputs);
  if (failed(times) || failed(workspace))
    return failure();
  auto lines = profile(bench, inputs, *outputs, times->wall.size());
  if (failed(lines))
    return failure();
  int64_t bytes = 0;
  for (const Tensor &input : inputs.getFirst())
    bytes += input.numBytes();
  for (auto [index, output] : llvm::enumerate(*outputs))
    bytes += bench.kernel.isInPlace(index) ? 0 : output.numBytes();
  std::optional<double> flops;
  if (bench.flops)
    flops = bench.flops->evaluate([&](StringRef symbol) { return sizes.get(symbol); });
  return Row{dims,
             *llvm::min_element(times->wall),
             getMedian(times->wall),
             getMedian(times->cpu),
             times->wall.size(),
             bytes,
             *workspace,
             flops,
             getCalled(bench.spec, inputs.getFirst(), *outputs),
             std::move(*lines)};
}

static FailureOr<std::vector<Row>> timeRows(Bench &bench, InputMaker &maker, ArrayRef<Dims> all,
                                            bool isPrinted) {
  unsigned width = 8;
  for (const Dims &dims : all)
    width = std::max<unsigned>(width, describe(dims).size());
  std::vector<Row> rows;
  for (const Dims &dims : all) {
    FailureOr<Row> row = timeRow(bench, maker, dims);
    if (failed(row))
      return failure();
    if (isPrinted && rows.empty())
      printHeader(width);
    if (isPrinted)
      print(*row, bench.limits, width);
    rows.push_back(std::move(*row));
  }
  return rows;
}

/// A scheduled spec does not tell lengths from other integers.
static void remarkIntegers(const InputMaker &maker) {
  for (auto [input, isGiven] : llvm::zip(maker.getSignature().inputs, maker.getGiven()))
    if (!isGiven && input.elementType.isInteger() && !input.elementType.isInteger(1))
      reportNote(input.name + " is not given: small random integers, since a scheduled spec "
                              "does not say what they mean");
}

static LogicalResult timeSpec(Spec &spec, StringRef target, const BenchInvocation &invocation) {
  std::optional<Graph> graph;
  if (spec.getStage() == Stage::Graph)
    graph = *Graph::copy(spec);
  if (failed(spec.lower(Stage::Fused, target)))
    return failure();
  Signature signature = spec.getSignature();
  if (failed(checkSizes(invocation.sizes, getSymbols(signature))) ||
      failed(checkAllKnown(invocation.sizes, signature, invocation.inputs)))
    return failure();
  std::optional<SymbolicCount> flops;
  if (spec.getStage() == Stage::Fused)
    flops = countFlops(spec.getFunction());
  if (graph)
    graph->nameDims(spec.getFunction());

  limitThreads(invocation.threads);
  FailureOr<std::string> cacheDir = openCache(invocation.useCache);
  std::unique_ptr<Kernel> kernel =
      failed(cacheDir) ? nullptr : Kernel::compile(spec, target, *cacheDir, invocation.isProfiled);
  if (!kernel)
    return failure();
  func::FuncOp function = graph ? graph->getFunction() : func::FuncOp();
  InputMaker maker(function, signature, invocation.inputs, invocation.seed,
                   InputMaker::FullLengths);
  if (!function)
    remarkIntegers(maker);
  Bench bench{spec,
              *kernel,
              function,
              flops,
              invocation.seconds,
              invocation.isCold,
              findLimits(target, invocation.threads)};
  FailureOr<std::vector<Row>> rows =
      timeRows(bench, maker, combine(invocation.sizes), /*isPrinted=*/!invocation.asJson);
  if (failed(rows))
    return failure();
  if (invocation.asJson)
    printJson(spec, target, bench.isCold, bench.limits, *rows);
  remarkLoad(*rows, invocation.threads);
  return success();
}

LogicalResult attnc::bench(const BenchInvocation &invocation) {
  if (!(invocation.seconds >= 0) || !std::isfinite(invocation.seconds))
    return reportUsage("--seconds",
                       llvm::formatv("expected 0 or more, found {0}", invocation.seconds));
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  FailureOr<std::string> target =
      spec ? resolveTarget(invocation.target) : FailureOr<std::string>();
  if (failed(target) || failed(checkRunsHere(*target)))
    return failure();
  if (invocation.isProfiled && mlir::attn::Target(*target).hasGpu())
    return reportUsage("--profile", "expected a target without a GPU, found " + *target);
  return timeSpec(*spec, *target, invocation);
}
