//===- ShardCost.cpp - what an exchange of keys costs ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardCost.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

FailureOr<Cluster> Cluster::parse(StringRef text, function_ref<InFlightDiagnostic()> emitError) {
  Cluster cluster;
  const std::pair<StringRef, double *> fields[] = {
      {"ranks", &cluster.ranks},   {"rows", &cluster.rows}, {"gflops", &cluster.gflops},
      {"memory", &cluster.memory}, {"link", &cluster.link}, {"latency", &cluster.latency}};
  for (StringRef entry : llvm::split(text, ',')) {
    if (entry.empty())
      continue;
    auto [name, number] = entry.split('=');
    auto field =
        llvm::find_if(fields, [name = name.trim()](auto &each) { return each.first == name; });
    if (field == std::end(fields) || number.trim().getAsDouble(*field->second) ||
        !(*field->second > 0) || !std::isfinite(*field->second))
      return emitError() << "expected a cluster of ranks, rows, gflops, memory, link and latency, "
                            "each =NUMBER above 0, found "
                         << entry;
  }
  return cluster;
}

std::string Cluster::str() const {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(
      "%g ranks of %g rows, %g GFLOP/s and %g GB/s; links of %g Gbit/s and %g us", ranks, rows,
      gflops, memory, link, latency);
  return text;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

namespace {
/// The terms of the formulas.
class Terms {
public:
  Terms(const Exchange &exchange, const Cluster &cluster);

  Estimate ring() const;
  Estimate allGather() const;
  Estimate halo() const;
  Estimate allReduce() const;

private:
  double send(double bytes) const { return latency + bytes / link; }
  double countKeysSeen() const;
  Estimate finish(ShardStrategy strategy, double seconds, double sending, double bytes) const;

  const Exchange &exchange;
  const Cluster &cluster;
  double latency, link, rows, compute, merge, keys, haloKeys;
};
} // namespace

/// The size of a dimension, or `otherwise` if it is dynamic.
static double getSize(Value tensor, int64_t dim, double otherwise) {
  int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? otherwise : static_cast<double>(size);
}

/// Keys that a row of the busiest rank sees on average.
double Terms::countKeysSeen() const {
  double all = cluster.ranks * cluster.rows;
  if (exchange.before && exchange.behind)
    return std::min(all, static_cast<double>(*exchange.before + *exchange.behind + 1));
  bool isTriangle = exchange.before.has_value() != exchange.behind.has_value();
  bool isBalanced =
      exchange.layout == ShardLayout::zigzag || exchange.layout == ShardLayout::striped;
  // The last rank of blocks sees all keys before its own.
  return isTriangle ? (isBalanced ? all / 2 : all - cluster.rows / 2) : all;
}

Terms::Terms(const Exchange &exchange, const Cluster &cluster)
    : exchange(exchange), cluster(cluster), latency(cluster.latency * 1e-6),
      link(cluster.link * 1e9 / 8) {
  AttentionOp op = exchange.op;
  keys = cluster.rows * exchange.keyBytes;
  haloKeys =
      std::min(static_cast<double>(exchange.before.value_or(0) + exchange.behind.value_or(0)),
               (cluster.ranks - 1) * cluster.rows);
  rows = exchange.areRowsSpread ? cluster.rows : getSize(op.getQuery(), 2, 1);
  double seen = exchange.areRowsSpread ? countKeysSeen() : cluster.rows;
  double flops = 2 * getSize(op.getQuery(), 1, 1) *
                 (getSize(op.getQuery(), 3, 64) + getSize(op.getValue(), 3, 64));
  // Each key is read at least once.
  compute = std::max(flops * rows * seen / (cluster.gflops * 1e9),
                     seen * exchange.keyBytes / (cluster.memory * 1e9));
  merge = 3 * rows * exchange.resultBytes / (cluster.memory * 1e9);
}

Estimate Terms::finish(ShardStrategy strategy, double seconds, double sending, double bytes) const {
  return {strategy, seconds, compute, sending, bytes};
}

Estimate Terms::ring() const {
  double ranks = cluster.ranks, turns = ranks, one = send(keys);
  if (exchange.before && exchange.behind)
    turns = std::min(ranks, std::ceil(haloKeys / cluster.rows) + 1);
  double turn = compute / turns;
  double seconds = turn + (turns - 1) * std::max(turn, one) + (ranks - turns) * one + ranks * merge;
  return finish(ShardStrategy::ring, seconds, (ranks - 1) * one, 2 * keys);
}

Estimate Terms::allGather() const {
  double others = cluster.ranks - 1, sending = others > 0 ? send(others * keys) : 0;
  return finish(ShardStrategy::all_gather, sending + compute, sending, cluster.ranks * keys);
}

Estimate Terms::halo() const {
  double bytes = haloKeys * exchange.keyBytes, sending = cluster.ranks > 1 ? send(bytes) : 0;
  Estimate estimate = finish(ShardStrategy::halo, sending + compute, sending, keys + bytes);
  estimate.reason = exchange.noHalo;
  return estimate;
}

Estimate Terms::allReduce() const {
  double rounds = std::ceil(std::log2(cluster.ranks)),
         sending = rounds * send(rows * exchange.resultBytes);
  return finish(ShardStrategy::all_reduce, sending + rounds * merge + compute, sending, 0);
}

SmallVector<Estimate> attn::estimate(const Exchange &exchange, const Cluster &cluster) {
  Terms terms(exchange, cluster);
  if (!exchange.areRowsSpread)
    return {terms.allReduce()};
  return {terms.halo(), terms.ring(), terms.allGather()};
}

const Estimate &attn::choose(ArrayRef<Estimate> estimates) {
  constexpr double kSlack = 1.05;
  double least = std::numeric_limits<double>::infinity();
  for (const Estimate &each : estimates)
    if (each.reason.empty())
      least = std::min(least, each.seconds);
  return *llvm::find_if(estimates, [&](const Estimate &each) {
    return each.reason.empty() && each.seconds <= kSlack * least;
  });
}

std::string Estimate::str() const {
  StringRef name = stringifyShardStrategy(strategy);
  if (!reason.empty())
    return (name + ": impossible, " + reason).str();
  return llvm::formatv("{0}: {1:f3} ms (computes {2:f3}, sends {3:f3}), {4:f1} MB of keys", name,
                       1e3 * seconds, 1e3 * computing, 1e3 * sending, bytes / 1e6)
      .str();
}
