//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times what `attnc run` calls, for several sizes in turn. A row is one choice of sizes.
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "Dispatch.h"
#include "Kernel.h"
#include "Options.h"
#include "Spec.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <cmath>
#include <ctime>

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::opt<double> seconds("seconds", cl::init(1), cl::value_desc("S"),
                               cl::desc("How long to time each row (default: 1)"),
                               cl::cat(category()), cl::sub(benchCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of a table"), cl::cat(category()),
                            cl::sub(benchCommand()));

static constexpr llvm::StringLiteral examples = R"(
Calls the compiled kernel again and again on the same inputs, after one call that does not
count. What --input does not give is random; lengths of keys say that there is no padding.

  min, median  milliseconds of one call, by the clock
  cpu          CPU milliseconds of one call, all threads together (median): what the call
               costs on a machine that others use too
  GFLOP/s      of the matrix products, at min. They are counted as "flops" in NAME.json:
               whole, also where a mask hides some of the score
  MB           of inputs and results; GB/s is that, at min
  workspace    MB of temporaries that the call allocates
  kernel       which of the kernels for different sizes ran; all are in --json

Compare edits of a schedule by the min of calm runs of --threads 1.

Examples:
  attnc bench spec.mlir --size batch=1,len=256,512,1024
  attnc bench spec.mlir --size batch=1,8,len=128 --threads 1 --seconds 5 --json
  attnc bench spec.mlir --input query=@q.npy --input key=@k.npy --input value=@v.npy
  attnc compile spec.mlir --emit halide -o - > tuned.mlir
  attnc bench tuned.mlir --size len=1024 --threads 1      an edited schedule
)";

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Each size is known: by `--size`, or from an input that is given.
static LogicalResult checkAllKnown(ArrayRef<SizeList> lists, const Signature &signature,
                                   ArrayRef<InputOption> given) {
  llvm::SetVector<StringRef> unknown;
  for (const Symbol &symbol : getSymbols(signature))
    unknown.insert(symbol.name);
  for (const SizeList &list : lists)
    unknown.remove(list.symbol);
  for (const Parameter &input : signature.inputs)
    if (llvm::any_of(given, [&](const InputOption &option) { return option.name == input.name; }))
      unknown.remove_if(
          [&](StringRef symbol) { return llvm::is_contained(input.symbols, symbol); });
  if (!unknown.empty())
    return reportError("--size", "expected sizes of " + llvm::join(unknown, ", ") + ", found none");
  return success();
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

namespace {
/// Of one call, in seconds: one entry a sample.
struct Times {
  std::vector<double> wall, cpu;
};

struct Row {
  Dims dims;
  double min, median, cpu;
  size_t samples;
  int64_t bytes, workspace;
  std::optional<double> flops;
  SmallVector<CalledKernel> called;

  double getGflops() const { return *flops / min / 1e9; }
  /// How far the usual call is from the best one.
  double getSpread() const { return median / min - 1; }
};
} // namespace

static double getWallTime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads of the process.
static double getCpuTime() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double getMedian(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls `call` until `duration` is over, three samples at least. A sample is so many calls
/// that reading the clocks costs next to nothing.
static FailureOr<Times> sample(llvm::function_ref<LogicalResult()> call, double duration) {
  constexpr double shortest = 1e-4;
  if (failed(call())) // starts the threads, touches the memory
    return failure();
  double begin = getWallTime();
  if (failed(call()))
    return failure();
  int calls = std::clamp(std::ceil(shortest / (getWallTime() - begin)), 1.0, 1000.0);
  Times times;
  for (double end = getWallTime() + duration; getWallTime() < end || times.wall.size() < 3;) {
    double cpu = getCpuTime(), wall = getWallTime();
    for (int count = 0; count < calls; ++count)
      if (failed(call()))
        return failure();
    times.wall.push_back((getWallTime() - wall) / calls);
    times.cpu.push_back((getCpuTime() - cpu) / calls);
  }
  return times;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// All that rows have in common.
struct Bench {
  Spec &spec;
  Kernel &kernel;
  /// Null, and no FLOPs, of a spec that is scheduled already.
  func::FuncOp graph;
  std::optional<Polynomial> flops;
  double seconds;
};
} // namespace

static SmallVector<CalledKernel> getCalled(Spec &spec, ArrayRef<Tensor> inputs,
                                           ArrayRef<Tensor> outputs) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (const Tensor &tensor : llvm::concat<const Tensor>(inputs, outputs))
    shapes.push_back(tensor.getShape());
  return getCalledKernels(spec.getFunction(), shapes);
}

static FailureOr<Row> timeRow(Bench &bench, InputMaker &maker, const Dims &dims) {
  Sizes sizes = makeSizes(dims, "--size");
  FailureOr<std::vector<Tensor>> inputs = maker.make(sizes);
  if (failed(inputs))
    return failure();
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(maker.getSignature(), sizes, bench.graph, *inputs);
  if (failed(outputs))
    return failure();
  FailureOr<Times> times =
      sample([&] { return bench.kernel.call(*inputs, *outputs); }, bench.seconds);
  FailureOr<int64_t> workspace = bench.kernel.getWorkspace(*inputs, *outputs);
  if (failed(times) || failed(workspace))
    return failure();
  int64_t bytes = 0;
  for (const Tensor &tensor : llvm::concat<const Tensor>(*inputs, *outputs))
    bytes += tensor.numBytes();
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
             getCalled(bench.spec, *inputs, *outputs)};
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

static std::string describe(const Dims &dims) {
  if (dims.empty())
    return "fixed";
  return llvm::join(
      llvm::map_range(dims,
                      [](auto dim) { return dim.first.str() + '=' + std::to_string(dim.second); }),
      " ");
}

/// The kernels that the sizes chose; how many there are where they chose none of several.
static std::string describe(ArrayRef<CalledKernel> called) {
  SmallVector<StringRef> names;
  for (CalledKernel call : called)
    if (call.isChosen || called.size() == 1)
      names.push_back(call.kernel.getName());
  if (names.empty())
    return std::to_string(called.size()) + " kernels";
  std::string more = names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "";
  return names.front().str() + more;
}

static void printHeader(unsigned width) {
  llvm::outs()
      << llvm::left_justify("sizes", width)
      << "     min ms  median ms     cpu ms   GFLOP/s      MB    GB/s  workspace  kernel\n";
}

static void print(const Row &row, unsigned width) {
  std::string gflops = "-";
  if (row.flops && *row.flops > 0)
    gflops = llvm::formatv("{0:F1}", row.getGflops());
  TerminalStream(llvm::outs()) << llvm::left_justify(describe(row.dims), width)
                               << llvm::format(" %10.4g %10.4g %10.4g %9s %7.4g %7.3g %10.4g  ",
                                               1e3 * row.min, 1e3 * row.median, 1e3 * row.cpu,
                                               gflops.c_str(), row.bytes / 1e6,
                                               row.bytes / row.min / 1e9, row.workspace / 1e6)
                               << describe(row.called) << '\n';
  llvm::outs().flush();
}

static json::Object toJson(const CalledKernel &call) {
  mlir::attn::KernelOpInterface kernel = call.kernel;
  json::Object object{{"name", mlir::attn::escapeJson(kernel.getName())},
                      {"chosen", call.isChosen}};
  for (StringRef name : {mlir::attn::kKindAttr, mlir::attn::kScheduleAttr})
    if (Attribute attribute = kernel->getAttr(name)) {
      auto text = dyn_cast<StringAttr>(attribute);
      std::string printed;
      llvm::raw_string_ostream(printed) << attribute;
      object[name] = mlir::attn::escapeJson(text ? text.str() : printed);
    }
  return object;
}

static json::Object toJson(const Row &row) {
  json::Object sizes;
  for (auto [symbol, size] : row.dims)
    sizes[mlir::attn::escapeJson(symbol)] = size;
  json::Array kernels;
  for (const CalledKernel &call : row.called)
    kernels.push_back(toJson(call));
  json::Object object{{"sizes", std::move(sizes)},        {"min_ms", 1e3 * row.min},
                      {"median_ms", 1e3 * row.median},    {"cpu_ms", 1e3 * row.cpu},
                      {"samples", row.samples},           {"bytes", row.bytes},
                      {"workspace_bytes", row.workspace}, {"kernels", std::move(kernels)}};
  if (row.flops && *row.flops > 0) {
    object["flops"] = *row.flops;
    object["gflops"] = row.getGflops();
  }
  return object;
}

/// Times of a machine that does other things too are worth a word. One thread alone tells how
/// much of the time it had a core.
static void remarkLoad(ArrayRef<Row> rows, unsigned numThreads) {
  double spread = 0, away = 0;
  for (const Row &row : rows) {
    spread = std::max(spread, row.getSpread());
    away = std::max(away, 1 - row.cpu / row.median);
  }
  if (numThreads == 1 && away > 0.1)
    reportNote("other work had this core for up to " + Twine(static_cast<int>(100 * away)) +
               "% of the time: go by cpu ms");
  else if (spread > 0.1)
    reportNote("medians are up to " + Twine(static_cast<int>(100 * spread)) +
               "% above the shortest times: other work on this machine, or too few --seconds");
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

namespace {
/// The command line, which compiling resets.
struct Wanted {
  std::vector<InputOption> inputs;
  std::vector<SizeList> sizes;
  uint64_t seed;
  double seconds;
  unsigned threads;
  bool inJson;
};
} // namespace

static FailureOr<std::vector<Row>> timeRows(Bench &bench, InputMaker &maker, ArrayRef<Dims> all,
                                            bool isPrinted) {
  unsigned width = 8;
  for (const Dims &dims : all)
    width = std::max<unsigned>(width, describe(dims).size());
  if (isPrinted)
    printHeader(width);
  std::vector<Row> rows;
  for (const Dims &dims : all) {
    FailureOr<Row> row = timeRow(bench, maker, dims);
    if (failed(row))
      return failure();
    if (isPrinted)
      print(*row, width);
    rows.push_back(std::move(*row));
  }
  return rows;
}

static void printJson(Spec &spec, StringRef target, ArrayRef<Row> rows) {
  json::Array array;
  for (const Row &row : rows)
    array.push_back(toJson(row));
  json::Value value = json::Object{
      {"function", spec.getFunction().getName()}, {"target", target}, {"rows", std::move(array)}};
  llvm::outs() << llvm::formatv("{0:2}\n", value);
}

/// Where a graph is gone, nothing tells a length from another integer.
static void remarkIntegers(const InputMaker &maker) {
  for (auto [input, isGiven] : llvm::zip(maker.getSignature().inputs, maker.getGiven()))
    if (!isGiven && input.elementType.isInteger() && !input.elementType.isInteger(1))
      reportNote(input.name + " is not given: small random integers, as a scheduled spec does not "
                              "say what they mean");
}

static LogicalResult timeSpec(Spec &spec, StringRef target, const Wanted &wanted) {
  std::optional<Graph> graph;
  if (spec.getStage() == Stage::Graph)
    graph = *Graph::copy(spec);
  if (failed(spec.lower(Stage::Fused, target)))
    return failure();
  Signature signature = spec.getSignature();
  if (failed(checkSizes(wanted.sizes, getSymbols(signature))) ||
      failed(checkAllKnown(wanted.sizes, signature, wanted.inputs)))
    return failure();
  std::optional<Polynomial> flops;
  if (spec.getStage() == Stage::Fused)
    flops = countFlops(spec.getFunction());
  if (graph)
    graph->nameDims(spec.getFunction());

  limitThreads(wanted.threads);
  std::unique_ptr<Kernel> kernel = Kernel::compile(spec, target);
  if (!kernel)
    return failure();
  func::FuncOp function = graph ? graph->getFunction() : func::FuncOp();
  InputMaker maker(function, signature, wanted.inputs, wanted.seed, InputMaker::FullLengths);
  if (!function)
    remarkIntegers(maker);
  Bench bench{spec, *kernel, function, flops, wanted.seconds};
  FailureOr<std::vector<Row>> rows =
      timeRows(bench, maker, combine(wanted.sizes), /*isPrinted=*/!wanted.inJson);
  if (failed(rows))
    return failure();
  if (wanted.inJson)
    printJson(spec, target, *rows);
  remarkLoad(*rows, wanted.threads);
  return success();
}

static LogicalResult runBench() {
  FailureOr<std::vector<InputOption>> given = parseInputs(inputTexts);
  FailureOr<std::vector<SizeList>> lists = parseSizes();
  if (failed(given) || failed(lists))
    return failure();
  if (!(seconds >= 0))
    return reportUsage("--seconds",
                       llvm::formatv("expected 0 or more, found {0}", double(seconds)));
  Wanted wanted{*given, *lists, seed, seconds, threads, asJson};
  std::unique_ptr<Spec> spec = Spec::load();
  FailureOr<std::string> target = spec ? getTarget() : FailureOr<std::string>();
  if (failed(target) || failed(checkRunsHere(*target)))
    return failure();
  return timeSpec(*spec, *target, wanted);
}

const Command attnc::bench = {benchCommand(), runBench, examples};
