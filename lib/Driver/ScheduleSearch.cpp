//===- ScheduleSearch.cpp - search schedule parameters ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSearch.h"

#include "attnc/Dialect/Attn/LinearSchedules.h"

#include <cmath>

using namespace mlir;
using namespace attnc;
using mlir::attn::ScheduleText;

/// Tiles of more vectors spill on every CPU.
static constexpr int64_t kMostVectors = 48;

namespace {
struct Domain {
  StringRef name;
  ArrayRef<int64_t> values;
};
} // namespace

static ArrayRef<Domain> getDomains() {
  static constexpr int64_t blocks[] = {16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512},
                           queryBlocks[] = {16, 32, 48, 64, 96, 128, 192},
                           tile[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16},
                           splits[] = {1, 2, 4, 8, 16, 32},
                           splitKeys[] = {256, 512, 1024, 2048, 4096},
                           ahead[] = {0, 2, 4, 8, 16, 24, 32, 64, 128, 256}, fetches[] = {1, 2, 3},
                           fetchBlocks[] = {0, 1, 2}, localities[] = {2, 3}, copies[] = {0, 1},
                           heads[] = {1, 2, 4, 8, 16, 32},
                           rowBlocks[] = {16, 32, 64, 128, 256, 512, 1024};
  static const Domain domains[] = {{"kv_block", blocks},
                                   {"score_keys", tile},
                                   {"context_vectors", tile},
                                   {"context_rows", tile},
                                   {"score_vectors", tile},
                                   {"score_rows", tile},
                                   {"q_block", queryBlocks},
                                   {"kv_splits", splits},
                                   {"min_split_keys", splitKeys},
                                   {"row_tile", tile},
                                   {"vectors", tile},
                                   {"row_block", rowBlocks},
                                   {"fetch_ahead", ahead},
                                   {"fetches", fetches},
                                   {"fetch_locality", localities},
                                   {"fetch_blocks", fetchBlocks},
                                   {"copy_kv_blocks", copies},
                                   {"interleaved_heads", heads}};
  return domains;
}

static ArrayRef<int64_t> getValues(StringRef name) {
  return llvm::find_if(getDomains(), [&](Domain domain) { return domain.name == name; })->values;
}

ScheduleSearch::ScheduleSearch(Operation *op, Attribute start, Measure measure,
                               llvm::function_ref<bool()> hasTime)
    : op(op), given(mlir::attn::getSchedules(op)), measure(measure), hasTime(hasTime),
      best{start, INFINITY} {}

ScheduleSearch::~ScheduleSearch() { mlir::attn::putSchedules(op, given); }

/// Whether `products` have a choice.
static bool mayMultiplyPairs(Operation *op) {
  if (auto linear = dyn_cast<mlir::attn::LinearOp>(op))
    return mlir::attn::mayMultiplyPairs(linear);
  auto attention = cast<mlir::attn::AttentionOp>(op);
  return attention.getQuery().getType().getElementType().isBF16() && !attention.isWidened();
}

/// Whether the schedule has the parameter, if only by its default, the first of its values.
static bool hasParameter(const ScheduleText &text, StringRef name) {
  bool isAttention = text.get("score_keys").has_value(),
       isDecode = text.get("score_rows").has_value(),
       mayBeDefault = name == "fetch_ahead" || name == "fetch_locality",
       mayBeDefaultOfDecode = name == "fetches" || name == "kv_splits" || name == "fetch_blocks" ||
                              name == "interleaved_heads";
  return text.get(name) || (isAttention && mayBeDefault) || (isDecode && mayBeDefaultOfDecode) ||
         (isAttention && !isDecode && name == "copy_kv_blocks");
}

/// For each parameter, the steps in the order of its values. The rows of a decode kernel follow
/// from the heads that it packs.
std::vector<std::vector<ScheduleSearch::Step>> ScheduleSearch::listSteps() {
  std::vector<std::vector<Step>> all;
  ScheduleText text(best.schedule);
  std::optional<int64_t> packed = text.getInteger("packed_heads");
  for (const Domain &domain : getDomains()) {
    if (!hasParameter(text, domain.name) || (packed && domain.name == "q_block"))
      continue;
    std::vector<Step> &steps = all.emplace_back();
    for (int64_t value : domain.values)
      steps.push_back({{domain.name, std::to_string(value)}});
  }
  if (packed) {
    int64_t rows = *text.getInteger("q_block") / *packed,
            group = cast<mlir::attn::AttentionOp>(op).getGroupSize().value_or(1);
    std::vector<Step> &steps = all.emplace_back();
    for (int64_t heads = 1; heads <= group && rows * heads <= 64; ++heads)
      if (group % heads == 0)
        steps.push_back(
            {{"packed_heads", std::to_string(heads)}, {"q_block", std::to_string(rows * heads)}});
  }
  if (mayMultiplyPairs(op)) {
    all.push_back({{{"products", "f32"}}, {{"products", "bf16_pairs"}}});
    if (!text.get("score_rows") && mlir::attn::CpuInfo::fromTarget("host").hasTiles)
      all.back().push_back({{"products", "bf16_tiles"}});
  }
  return all;
}

static bool fitsRegisters(const ScheduleText &text) {
  auto tile = [&](StringRef rows, StringRef columns) {
    return text.getInteger(rows).value_or(1) * text.getInteger(columns).value_or(1) <= kMostVectors;
  };
  return tile("score_vectors", "score_keys") && tile("score_rows", "score_keys") &&
         tile("context_rows", "context_vectors") && tile("row_tile", "vectors");
}

bool ScheduleSearch::isValid(Attribute schedule) {
  std::string error;
  return schedule &&
         succeeded(mlir::attn::setSchedules(op, ArrayAttr::get(op->getContext(), schedule), error));
}

/// Null if the text is no schedule of the op.
Attribute ScheduleSearch::parse(const ScheduleText &text) {
  std::string error;
  Attribute schedule = mlir::attn::parseSchedule(text.str(), op->getContext(), error);
  return fitsRegisters(text) && isValid(schedule) ? schedule : Attribute();
}

/// Values of a tile's parameter, the closest to the present one first; those of a parameter that
/// the schedule lacks, or that the step sets, stay.
static SmallVector<int64_t> listClosest(const ScheduleText &text, StringRef name, bool isFixed) {
  std::optional<int64_t> now = text.getInteger(name);
  SmallVector<int64_t> values = {now.value_or(0)};
  if (!now || isFixed)
    return values;
  llvm::append_range(values, getValues(name));
  auto distance = [&](int64_t value) {
    return std::pair(std::abs(std::log2(double(value) / *now)), value);
  };
  llvm::sort(values, [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
  return values;
}

/// Row blocks are made of whole tiles.
Attribute ScheduleSearch::fitLinear(ScheduleText text) {
  int64_t rows = *text.getInteger("row_tile"), block = *text.getInteger("row_block");
  text.set("row_block", std::to_string(llvm::alignTo(block, rows)));
  return parse(text);
}

/// The schedule after the step, with register tiles as close to those before as the blocks allow;
/// null if there is none.
Attribute ScheduleSearch::fit(Attribute from, const Step &step) {
  ScheduleText text(from);
  for (const auto &[name, value] : step)
    text.set(name, value);
  if (text.get("row_tile"))
    return fitLinear(text);
  auto list = [&](StringRef name) {
    bool isFixed = llvm::any_of(step, [&](const auto &set) { return set.first == name; });
    return listClosest(text, name, isFixed);
  };
  StringRef score = text.get("score_rows") ? "score_rows" : "score_vectors";
  for (int64_t keys : list("score_keys"))
    for (int64_t scores : list(score))
      for (int64_t rows : list("context_rows")) {
        ScheduleText fitted = text;
        fitted.set("score_keys", std::to_string(keys));
        fitted.set(score, std::to_string(scores));
        fitted.set("context_rows", std::to_string(rows));
        if (Attribute schedule = parse(fitted))
          return schedule;
      }
  return {};
}

/// Whether it is the best so far.
FailureOr<bool> ScheduleSearch::visit(Attribute schedule) {
  constexpr double kBetter = 0.995; // beyond what a clock varies by
  if (!schedule || !seen.try_emplace(ScheduleText(schedule).str(), true).second)
    return false;
  FailureOr<std::optional<double>> seconds = measure(schedule);
  if (failed(seconds))
    return failure();
  if (!*seconds)
    return false;
  measured.push_back({schedule, **seconds});
  if (**seconds >= best.seconds * kBetter)
    return false;
  best = measured.back();
  return true;
}

/// The first step that sets at least the schedule's value, and whether it sets just that.
static std::pair<size_t, bool> findStep(Attribute schedule, ArrayRef<ScheduleSearch::Step> steps) {
  StringRef name = steps.front().front().first;
  ScheduleText text(schedule);
  std::optional<int64_t> number = text.getInteger(name);
  if (!text.get(name))
    return {0, true};
  for (auto [at, step] : llvm::enumerate(steps)) {
    int64_t value;
    if (step.front().second == text.get(name))
      return {at, true};
    if (number && !StringRef(step.front().second).getAsInteger(10, value) && value > *number)
      return {at, false};
  }
  return {steps.size(), false};
}

/// Steps on in a direction while that helps, twice as far each time; after a step too far, in
/// single steps again. Whether any helped.
FailureOr<bool> ScheduleSearch::follow(ArrayRef<Step> steps, int direction) {
  auto [at, isOwn] = findStep(best.schedule, steps);
  if (isOwn || direction < 0)
    at += direction;
  bool isBetter = false;
  for (int stride = 1; stride != 0 && hasTime();) {
    size_t to = at + direction * (stride - 1);
    FailureOr<bool> better =
        to < steps.size() ? visit(fit(best.schedule, steps[to])) : FailureOr<bool>(false);
    if (failed(better))
      return failure();
    if (*better)
      at = to + direction;
    isBetter |= *better;
    stride = *better ? 2 * stride : stride > 1;
  }
  return isBetter;
}

LogicalResult ScheduleSearch::descend() {
  for (bool isBetter = true; isBetter && hasTime();) {
    isBetter = false;
    for (const std::vector<Step> &steps : listSteps())
      for (int direction : {1, -1}) {
        FailureOr<bool> better = follow(steps, direction);
        if (failed(better))
          return failure();
        isBetter |= *better;
      }
  }
  return success();
}

LogicalResult ScheduleSearch::run() {
  if (failed(visit(best.schedule)) || failed(descend()))
    return failure();
  // Two parameters at random, then along each again.
  constexpr int kMostMisses = 200;
  for (int misses = 0; hasTime() && misses < kMostMisses;) {
    Attribute jump = best.schedule;
    auto all = listSteps();
    for (int count = 0; count < 2 && jump; ++count) {
      const std::vector<Step> &steps = all[random() % all.size()];
      jump = fit(jump, steps[random() % steps.size()]);
    }
    if (!jump || seen.contains(ScheduleText(jump).str())) {
      ++misses;
      continue;
    }
    FailureOr<bool> better = visit(jump);
    if (failed(better) || (*better && failed(descend())))
      return failure();
  }
  return success();
}

std::vector<ScheduleSearch::Candidate> ScheduleSearch::getBest() const {
  std::vector<Candidate> sorted = measured;
  llvm::sort(sorted, [](const Candidate &a, const Candidate &b) { return a.seconds < b.seconds; });
  return sorted;
}
