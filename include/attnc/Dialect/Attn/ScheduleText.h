//===- ScheduleText.h - schedules by the names of their parameters -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SCHEDULETEXT_H
#define ATTNC_DIALECT_ATTN_SCHEDULETEXT_H

#include "attnc/Dialect/Attn/Attn.h"

#include <string>
#include <utility>

namespace mlir::attn {

/// A schedule attribute as text, `#attn.decode<q_block = 4, kv_block = 64, …>`, whose parameters
/// can be read and set by name.
class ScheduleText {
public:
  explicit ScheduleText(Attribute schedule);

  /// None if the schedule has no such parameter, or has its default.
  std::optional<StringRef> get(StringRef name) const;
  std::optional<int64_t> getInteger(StringRef name) const;
  /// Adds the parameter if it is missing.
  void set(StringRef name, StringRef value);
  void erase(StringRef name);

  std::string str() const;

private:
  std::string kind;
  SmallVector<std::pair<std::string, std::string>> parameters;
};

/// The attribute that `text` spells; null, with the reason in `error`, if it is none.
Attribute parseSchedule(StringRef text, MLIRContext *context, std::string &error);

/// The schedules of an attention or a linear layer; null if it has none, and for other ops.
ArrayAttr getSchedules(Operation *op);
/// Gives an attention or a linear layer these schedules, or none.
void putSchedules(Operation *op, ArrayAttr schedules);
/// The same, if they verify; else leaves `op` as it is and says why in `error`.
LogicalResult setSchedules(Operation *op, ArrayAttr schedules, std::string &error);

/// The schedule of the kernel that serves calls of `qLen` rows: the first whose limit allows it.
size_t findServing(ArrayAttr schedules, int64_t qLen);
/// That schedule alone, for all calls.
ArrayAttr keepServing(ArrayAttr schedules, int64_t qLen);

/// The schedule with another limit of q_len, or rows; 0 is none.
Attribute withMaxQLen(Attribute schedule, int64_t maxQLen);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_SCHEDULETEXT_H
