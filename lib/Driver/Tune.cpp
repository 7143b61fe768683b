//===- Tune.cpp - attnc tune ----------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles, checks and times schedules of each fused attention and linear layer for the sizes of a
// call, and keeps the fastest ones in a database, which every command then takes them from.
//
//===----------------------------------------------------------------------===//

#include "ScheduleSearch.h"
#include "Targets.h"
#include "TimedInputs.h"
#include "Timing.h"
#include "TuneReport.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/ScheduleDatabase.h"
#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Execution/Graph.h"
#include "attnc/Execution/InputMaker.h"
#include "attnc/Execution/Kernel.h"
#include "attnc/Files/WholeFile.h"
#include "attnc/Machine/Target.h"
#include "attnc/Spec/Place.h"
#include "attnc/Verification/Comparison.h"
#include "attnc/Verification/TestSizes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace attnc;
using mlir::attn::AttentionOp;
using mlir::attn::getSchedules;
using mlir::attn::LinearOp;
using mlir::attn::MeasuredSchedules;
using mlir::attn::Measurement;
using mlir::attn::putSchedules;
using mlir::attn::ScheduleDatabase;

std::string attnc::getSchedulesPath(StringRef given) {
  if (given.empty())
    if (const char *path = std::getenv("ATTNC_SCHEDULES"))
      given = path;
  if (given == "none")
    return "";
  if (!given.empty())
    return given.str();
  SmallString<128> path;
  if (!llvm::sys::path::user_config_directory(path) || !llvm::sys::path::is_absolute(path))
    return "";
  llvm::sys::path::append(path, "attnc", "schedules.json");
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// Calls that are timed
//===----------------------------------------------------------------------===//

namespace {
/// A call of chosen sizes, and what it must give.
struct Call {
  std::string sizesText;
  Sizes sizes;
  TimedInputs inputs;
  std::vector<Tensor> outputs;
  /// By the reference; empty if it would take minutes.
  std::vector<Expected> expected;
  /// The results of the kernel that the search began with.
  std::vector<mlir::attn::reference::Array> first;
};

/// A kernel to search the schedule of.
struct Goal {
  /// Equal ops, which get the same schedules.
  SmallVector<Operation *> ops;
  /// Which of an op's schedules.
  size_t index;
  /// Query rows of the calls, or rows of a linear layer.
  int64_t qLen;
  SmallVector<Call *> calls;
};
} // namespace

/// Whether two kernels agree up to the roundings of different orders of summation.
static bool isClose(const Tensor &ours, const mlir::attn::reference::Array &other) {
  Tensor wanted = makeTensor(other, ours.getElementType());
  double largest = 0, error = 0;
  for (int64_t at = 0; at < ours.size(); ++at) {
    double a = ours.get(at), b = wanted.get(at);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (!isSameSpecial(a, b))
        return false;
      continue;
    }
    largest = std::max(largest, std::abs(b));
    error = std::max(error, std::abs(a - b));
  }
  constexpr int kRoundings = 32;
  auto type = dyn_cast<FloatType>(ours.getElementType());
  double eps = type ? std::ldexp(1.0, 1 - int(type.getFPMantissaWidth())) : 0;
  return error <= kRoundings * eps * largest;
}

static bool isRight(const Call &call) {
  for (auto [index, output] : llvm::enumerate(call.outputs))
    if (call.expected.empty() ? !isClose(output, call.first[index])
                              : !compare(output, call.expected[index]).isGood())
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Tuner
//===----------------------------------------------------------------------===//

namespace {
class Tuner {
public:
  Tuner(Spec &spec, Graph &graph, StringRef target, const TuneInvocation &invocation,
        ScheduleDatabase &database)
      : spec(spec), graph(graph), target(target), invocation(invocation), database(database) {}

  LogicalResult prepare();
  FailureOr<std::vector<Finding>> run();
  bool isChecked() const;

private:
  FailureOr<Call> makeCall(const Dims &dims);
  LogicalResult addExpected(Call &call, const Dims &dims);
  LogicalResult listGoals();
  std::optional<int64_t> getQLen(Operation *op, const Call &call);
  FailureOr<Finding> search(Goal &goal, double seconds);
  std::unique_ptr<Kernel> compile(const Goal &goal, Attribute schedule);
  FailureOr<std::optional<double>> measure(const Goal &goal, Attribute schedule);
  LogicalResult reportWrong(const Goal &goal, Attribute schedule);
  FailureOr<SmallVector<double>> alternate(const Goal &goal, ArrayRef<Attribute> schedules,
                                           double seconds);
  LogicalResult keep(const Goal &goal, Attribute schedule, const Measurement &measured);

  Spec &spec;
  Graph &graph;
  StringRef target;
  const TuneInvocation &invocation;
  ScheduleDatabase &database;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<Goal> goals;
  /// Of the goal, by schedule.
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};
} // namespace

bool Tuner::isChecked() const {
  return llvm::none_of(calls, [](const auto &call) { return call->expected.empty(); });
}

static std::string print(Attribute schedule) { return mlir::attn::ScheduleText(schedule).str(); }

static std::string describeSizes(const Dims &dims) {
  std::string text;
  for (auto [symbol, size] : dims)
    text += (text.empty() ? "" : ",") + symbol.str() + "=" + std::to_string(size);
  return text;
}

FailureOr<Call> Tuner::makeCall(const Dims &dims) {
  Signature signature = spec.getSignature();
  Call call{describeSizes(dims), makeSizes(dims, "--size"), {}, {}, {}, {}};
  InputMaker maker(graph.getFunction(), signature, invocation.inputs, invocation.seed,
                   InputMaker::FullLengths);
  FailureOr<std::vector<Tensor>> inputs = maker.make(call.sizes);
  if (failed(inputs))
    return failure();
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(signature, call.sizes, graph.getFunction(), *inputs, spec.getPath());
  if (failed(outputs))
    return failure();
  call.inputs = TimedInputs(std::move(*inputs), /*areCold=*/true);
  call.outputs = std::move(*outputs);
  return call;
}

/// A schedule may err twice as much as the kernel before, plus 4 eps of the largest result. Where
/// the reference would take long, its results have to be those of that kernel.
LogicalResult Tuner::addExpected(Call &call, const Dims &dims) {
  constexpr double kMostProducts = 1e10; // some 20 s
  OwningOpRef<ModuleOp> lowered = spec.getLowered(Stage::Scheduled, target);
  if (!lowered)
    return failure();
  auto function = lowered->lookupSymbol<func::FuncOp>(spec.getFunction().getName());
  std::unique_ptr<Kernel> kernel = Kernel::compile(function, target, /*cacheDir=*/"");
  if (!kernel || failed(kernel->call(call.inputs.getFirst(), call.outputs)))
    return failure();
  call.first = makeArrays(call.outputs);
  if (WorkEstimate(graph.getFunction()).get(dims) > kMostProducts)
    return success();
  Progress progress("computing the reference of " + spec.getPath());
  auto exact =
      graph.evaluate(makeArrays(call.inputs.getFirst()), mlir::attn::reference::Arithmetic::Exact);
  if (failed(exact))
    return failure();
  for (auto [array, first] : llvm::zip_equal(*exact, call.first))
    call.expected.push_back({std::move(array), {first}});
  return success();
}

std::optional<int64_t> Tuner::getQLen(Operation *op, const Call &call) {
  mlir::attn::SizeTracer tracer(spec.getFunction());
  auto trace = [&](Value tensor, int64_t dim) {
    return traceSize(tensor, dim, tracer, call.sizes);
  };
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    std::optional<int64_t> rows = trace(attention.getQuery(), 2);
    if (!attention.getOffsets() || !rows)
      return rows;
    std::optional<int64_t> offsets = trace(attention.getOffsets(), 0);
    if (!offsets)
      return std::nullopt;
    // The average q_len of packed sequences.
    return llvm::divideCeil(*rows, std::max<int64_t>(*offsets - 1, 1));
  }
  Value input = cast<LinearOp>(op).getInput();
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  return rank < 2 ? 1 : trace(input, rank - 2);
}

/// One for each kernel that some call runs.
LogicalResult Tuner::listGoals() {
  std::map<std::string, size_t> byClass;
  std::vector<SmallVector<Operation *>> classes;
  spec.getFunction().walk([&](Operation *op) {
    if (!getSchedules(op))
      return;
    auto [known, isNew] = byClass.try_emplace(mlir::attn::describeClass(op), classes.size());
    if (isNew)
      classes.emplace_back();
    classes[known->second].push_back(op);
  });
  for (SmallVector<Operation *> &ops : classes)
    for (auto &call : calls) {
      std::optional<int64_t> qLen = getQLen(ops.front(), *call);
      if (!qLen)
        continue;
      size_t index = mlir::attn::findServing(getSchedules(ops.front()), *qLen);
      auto isGoal = [&](const Goal &goal) {
        return goal.ops.front() == ops.front() && goal.index == index;
      };
      auto goal = llvm::find_if(goals, isGoal);
      if (goal == goals.end())
        goal = goals.insert(goal, Goal{ops, index, *qLen, {}});
      goal->calls.push_back(call.get());
    }
  if (goals.empty())
    return reportError(spec.getPath(),
                       "expected a fused attention or a linear layer with a schedule, "
                       "found none; attnc explain says why");
  return success();
}

LogicalResult Tuner::prepare() {
  for (const Dims &dims : combine(invocation.sizes)) {
    FailureOr<Call> call = makeCall(dims);
    if (failed(call) || failed(addExpected(*call, dims)))
      return failure();
    calls.push_back(std::make_unique<Call>(std::move(*call)));
  }
  return listGoals();
}

/// Compiles the kernels that the goal's calls run alone. Null if there is none.
std::unique_ptr<Kernel> Tuner::compile(const Goal &goal, Attribute schedule) {
  MLIRContext *context = &spec.getContext();
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  SmallVector<std::pair<Operation *, ArrayAttr>> before;
  spec.getFunction().walk([&](Operation *op) {
    ArrayAttr schedules = getSchedules(op);
    if (!schedules)
      return;
    before.push_back({op, schedules});
    std::optional<int64_t> qLen = getQLen(op, *goal.calls.front());
    Attribute own = llvm::is_contained(goal.ops, op) ? schedule
                    : qLen ? schedules[mlir::attn::findServing(schedules, *qLen)]
                           : Attribute();
    if (own)
      putSchedules(op, ArrayAttr::get(context, mlir::attn::withMaxQLen(own, 0)));
  });
  OwningOpRef<ModuleOp> lowered = spec.getLowered(Stage::Scheduled, target);
  for (auto [op, schedules] : before)
    putSchedules(op, schedules);
  if (!lowered)
    return nullptr;
  auto function = lowered->lookupSymbol<func::FuncOp>(spec.getFunction().getName());
  return Kernel::compile(function, target, /*cacheDir=*/"");
}

/// Keeps the spec with the schedule that computes wrong numbers.
LogicalResult Tuner::reportWrong(const Goal &goal, Attribute schedule) {
  std::string path = "attnc-wrong-schedule.mlir", text;
  for (Operation *op : goal.ops)
    putSchedules(op, ArrayAttr::get(&spec.getContext(), mlir::attn::withMaxQLen(schedule, 0)));
  llvm::raw_string_ostream(text) << spec.getModule();
  auto write = [&](llvm::raw_ostream &os) { os << text << '\n'; };
  std::error_code error = mlir::attn::writeWholeFile(path, write);
  return reportInternal(print(schedule) + " computes wrong numbers" +
                        (error ? "" : "; the spec is kept in " + path));
}

static FailureOr<double> timeCall(Kernel &kernel, Call &call) {
  double begin = getWallTime();
  if (failed(kernel.call(call.inputs.next(), call.outputs)))
    return failure();
  return getWallTime() - begin;
}

/// The shortest of the times that `duration` seconds allow.
static FailureOr<double> sampleCall(Kernel &kernel, Call &call, double duration) {
  auto callOnce = [&] { return kernel.call(call.inputs.next(), call.outputs); };
  FailureOr<Times> times = sample(callOnce, duration);
  if (failed(times))
    return failure();
  return *llvm::min_element(times->wall);
}

/// The geometric mean of the calls' seconds.
FailureOr<std::optional<double>> Tuner::measure(const Goal &goal, Attribute schedule) {
  constexpr double kSecondsOfCall = 0.15;
  std::unique_ptr<Kernel> kernel = compile(goal, schedule);
  if (!kernel)
    return std::optional<double>();
  double product = 0;
  for (Call *call : goal.calls) {
    FailureOr<double> first = timeCall(*kernel, *call);
    if (failed(first))
      return failure();
    if (!isRight(*call))
      return reportWrong(goal, schedule);
    // The search needs no more of a long call: the fastest schedules are timed again.
    FailureOr<double> seconds = *first < kSecondsOfCall ? sampleCall(*kernel, *call, kSecondsOfCall)
                                                        : timeCall(*kernel, *call);
    if (failed(seconds))
      return failure();
    product += std::log(std::min(*first, *seconds));
  }
  kernels[print(schedule)] = std::move(kernel);
  return std::optional(std::exp(product / goal.calls.size()));
}

/// The seconds of each schedule, timed in turn, so that a machine that slows down slows all.
FailureOr<SmallVector<double>> Tuner::alternate(const Goal &goal, ArrayRef<Attribute> schedules,
                                                double seconds) {
  constexpr size_t kFewestRounds = 5, kMostRounds = 50;
  std::vector<std::vector<double>> times(schedules.size());
  for (double end = getWallTime() + seconds;
       times.front().size() < kFewestRounds ||
       (getWallTime() < end && times.front().size() < kMostRounds);)
    for (auto [schedule, ownTimes] : llvm::zip_equal(schedules, times)) {
      double product = 0;
      for (Call *call : goal.calls) {
        FailureOr<double> sampled = sampleCall(*kernels.at(print(schedule)), *call, /*duration=*/0);
        if (failed(sampled))
          return failure();
        product += std::log(*sampled);
      }
      ownTimes.push_back(std::exp(product / goal.calls.size()));
    }
  return llvm::map_to_vector(times, getMedian);
}

/// The kernels of a linear layer share packed weights.
static ArrayAttr replaceSchedule(ArrayAttr schedules, size_t index, Attribute schedule) {
  if (auto linear = dyn_cast<mlir::attn::LinearAttr>(schedule))
    return mlir::attn::withSharedPanels(schedules, index, linear);
  SmallVector<Attribute> all(schedules.getValue());
  all[index] = schedule;
  return ArrayAttr::get(schedules.getContext(), all);
}

static LogicalResult write(const ScheduleDatabase &database, StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  std::error_code error;
  if (!folder.empty())
    error = llvm::sys::fs::create_directories(folder);
  if (!error)
    error = database.write();
  return error ? reportError(path, "cannot write: " + error.message()) : success();
}

/// Writes the op's schedules with this one to the database.
LogicalResult Tuner::keep(const Goal &goal, Attribute schedule, const Measurement &measured) {
  Operation *op = goal.ops.front();
  std::string name = mlir::attn::describeClass(op);
  ArrayAttr all = replaceSchedule(getSchedules(op), goal.index, schedule);
  MeasuredSchedules entry{mlir::attn::getProcessor().str(), target.str(), name, {}, {}};
  if (const MeasuredSchedules *known = database.find(entry.cpu, target, name);
      known && known->cpu == entry.cpu)
    entry.measured = known->measured;
  llvm::erase_if(entry.measured, [&](const Measurement &old) {
    return mlir::attn::findServing(all, old.qLen) == goal.index;
  });
  entry.measured.push_back(measured);
  for (Attribute each : all)
    entry.schedules.push_back(print(each));
  database.set(std::move(entry));
  for (Operation *each : goal.ops)
    putSchedules(each, all);
  return write(database, invocation.spec.schedules);
}

FailureOr<Finding> Tuner::search(Goal &goal, double seconds) {
  constexpr double kShareOfSearch = 0.85;
  constexpr size_t kFinalists = 3;
  constexpr double kWorthKeeping = 0.99;
  Operation *op = goal.ops.front();
  auto scheduled = cast<mlir::attn::ScheduleAttrInterface>(getSchedules(op)[goal.index]);
  int64_t limit = scheduled.getMaxQLen();
  Attribute start = mlir::attn::withMaxQLen(scheduled, 0);
  std::string place = describePlace(op->getLoc());
  double end = getWallTime() + seconds * kShareOfSearch, best = INFINITY;
  size_t tried = 0;
  kernels.clear();
  auto measureNext = [&](Attribute schedule) -> FailureOr<std::optional<double>> {
    Progress progress(llvm::formatv("{0}: {1} schedules tried, best {2:f3} ms, {3:f0} s left",
                                    place, tried++, best * 1e3,
                                    std::max(0.0, end - getWallTime())));
    FailureOr<std::optional<double>> time = measure(goal, schedule);
    if (succeeded(time) && *time)
      best = std::min(best, **time);
    return time;
  };
  SmallVector<Attribute> finalists = {start};
  {
    ScheduleSearch searched(op, start, measureNext, [&] {
      return getWallTime() < end && (invocation.tries == 0 || tried < invocation.tries);
    });
    if (failed(searched.run()))
      return failure();
    for (const ScheduleSearch::Candidate &candidate : searched.getBest())
      if (finalists.size() <= kFinalists && candidate.schedule != start)
        finalists.push_back(candidate.schedule);
  }
  if (!kernels.count(print(start)))
    return reportInternal(print(start) + " gives no kernel");
  FailureOr<SmallVector<double>> times = alternate(goal, finalists, seconds * (1 - kShareOfSearch));
  if (failed(times))
    return failure();
  size_t winner = llvm::min_element(*times) - times->begin();
  if ((*times)[winner] > kWorthKeeping * times->front())
    winner = 0;
  Measurement measured{goal.qLen, "", (*times)[winner] * 1e3, times->front() * 1e3};
  for (Call *call : goal.calls)
    measured.sizes += (measured.sizes.empty() ? "" : "; ") + call->sizesText;
  Attribute kept = mlir::attn::withMaxQLen(finalists[winner], limit);
  Finding finding{place, scheduled.getLimitName(), print(scheduled), print(kept), measured, tried};
  if (winner != 0 && failed(keep(goal, kept, measured)))
    return failure();
  return finding;
}

FailureOr<std::vector<Finding>> Tuner::run() {
  std::vector<Finding> findings;
  for (Goal &goal : goals) {
    FailureOr<Finding> finding = search(goal, invocation.seconds / goals.size());
    if (failed(finding))
      return failure();
    findings.push_back(std::move(*finding));
  }
  return findings;
}

//===----------------------------------------------------------------------===//
// attnc tune
//===----------------------------------------------------------------------===//

static LogicalResult checkTunes(const TuneInvocation &invocation, StringRef target) {
  if (!(invocation.seconds > 0) || !std::isfinite(invocation.seconds))
    return reportUsage("--seconds",
                       llvm::formatv("expected more than 0, found {0}", invocation.seconds));
  if (invocation.spec.schedules.empty())
    return reportUsage("--schedules", "expected a file for the schedules, found none");
  if (mlir::attn::Target(target).hasGpu())
    return reportError("--target", "expected a CPU, found " + target);
  return checkRunsHere(target);
}

LogicalResult attnc::tune(const TuneInvocation &invocation) {
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  FailureOr<std::string> target =
      spec ? resolveTarget(invocation.target) : FailureOr<std::string>();
  if (failed(target) || failed(checkTunes(invocation, *target)))
    return failure();
  FailureOr<ScheduleDatabase> database = ScheduleDatabase::read(
      invocation.spec.schedules, &spec->getContext(), DiagnosticSeverity::Error);
  FailureOr<Graph> graph = Graph::copy(*spec);
  if (failed(database) || failed(graph))
    return failure();
  spec->getFunction()->removeAttr(mlir::attn::kQLenAttr); // its other kernels stay
  if (failed(spec->lower(Stage::Fused, *target)))
    return failure();
  graph->nameDims(spec->getFunction());
  Signature signature = spec->getSignature();
  if (failed(checkSizes(invocation.sizes, getSymbols(signature))) ||
      failed(checkAllKnown(invocation.sizes, signature, invocation.inputs)))
    return failure();
  limitThreads(invocation.threads);
  Tuner tuner(*spec, *graph, *target, invocation, *database);
  // A file that can't be written is an error before the search, not after it.
  if (failed(tuner.prepare()) || failed(write(*database, invocation.spec.schedules)))
    return failure();
  FailureOr<std::vector<Finding>> findings = tuner.run();
  if (failed(findings))
    return failure();
  print(invocation, *target, *findings, tuner.isChecked());
  return success();
}
