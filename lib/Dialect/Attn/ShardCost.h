//===- ShardCost.h - what an exchange of keys costs -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model to choose between strategies, not to predict times: ranks are equally fast, each has one
// link to all others, and sends while it computes. With C the seconds in which the busiest rank
// computes, by its FLOP/s or reading keys from memory, L(bytes) = latency + bytes / link those of a
// message, and W ranks:
//
// - ring: C / T + (T - 1)·max(C / T, L) + (W - T)·L + W·merge, T the turns in which rows see keys
// - all_gather: L((W - 1)·keys) + C
// - halo: L(keys that a window shows beside the rank's own) + C
// - all_reduce: ⌈log2 W⌉·(L(results) + merge) + C
//
// L without an argument is that of a rank's keys. Messages to different ranks start together, so
// that a gather has one latency. A merge reads two results and writes one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SHARDCOST_H
#define ATTNC_LIB_DIALECT_ATTN_SHARDCOST_H

#include "attnc/Dialect/Attn/Attn.h"

#include <optional>
#include <string>

namespace mlir::attn {

/// What a call is assumed to be like; `ranks=64,rows=16384` overrides some.
struct Cluster {
  /// Of `rows` rows, or keys of a decode, each.
  double ranks = 8, rows = 8192;
  /// Of a rank: GFLOP/s, and memory in GB/s.
  double gflops = 1000, memory = 100;
  /// Of a link: Gbit/s, and microseconds of a message.
  double link = 100, latency = 10;

  static FailureOr<Cluster> parse(StringRef text, function_ref<InFlightDiagnostic()> emitError);
  std::string str() const;
};

/// An attention whose keys are spread.
struct Exchange {
  AttentionOp op;
  ShardLayout layout;
  bool areRowsSpread;
  /// Bytes of a key, its value and what regions read of it; of a row's result.
  double keyBytes = 0, resultBytes = 0;
  /// The most keys before and behind a row's place that it sees; none: all.
  std::optional<int64_t> before = std::nullopt, behind = std::nullopt;
  /// Why a halo is impossible; empty if it is possible.
  std::string noHalo = "";
};

/// What a strategy takes; `reason` is why it is impossible, or empty.
struct Estimate {
  ShardStrategy strategy;
  double seconds = 0, computing = 0, sending = 0;
  /// Bytes of keys and values in buffers.
  double bytes = 0;
  std::string reason = "";

  std::string str() const;
};

/// All strategies; of those within 5 % of the fastest one, the first needs the least memory.
SmallVector<Estimate> estimate(const Exchange &exchange, const Cluster &cluster);
/// The one to take; there is at least one.
const Estimate &choose(ArrayRef<Estimate> estimates);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SHARDCOST_H
