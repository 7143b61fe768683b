//===- ScheduleText.cpp - schedules by the names of their parameters -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/ScheduleText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

ScheduleText::ScheduleText(Attribute schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  auto [head, body] = StringRef(text).split('<');
  kind = head.str();
  for (StringRef entry : llvm::split(body.drop_back(), ", ")) {
    auto [name, value] = entry.split(" = ");
    parameters.push_back({name.str(), value.str()});
  }
}

std::optional<StringRef> ScheduleText::get(StringRef name) const {
  for (const auto &[known, value] : parameters)
    if (known == name)
      return StringRef(value);
  return std::nullopt;
}

std::optional<int64_t> ScheduleText::getInteger(StringRef name) const {
  int64_t number;
  std::optional<StringRef> value = get(name);
  return value && !value->getAsInteger(10, number) ? std::optional(number) : std::nullopt;
}

void ScheduleText::set(StringRef name, StringRef value) {
  for (auto &[known, old] : parameters)
    if (known == name) {
      old = value.str();
      return;
    }
  parameters.push_back({name.str(), value.str()});
}

void ScheduleText::erase(StringRef name) {
  llvm::erase_if(parameters, [&](const auto &parameter) { return parameter.first == name; });
}

std::string ScheduleText::str() const {
  auto entries = llvm::map_range(
      parameters, [](const auto &parameter) { return parameter.first + " = " + parameter.second; });
  return kind + "<" + llvm::join(entries, ", ") + ">";
}

Attribute attn::parseSchedule(StringRef text, MLIRContext *context, std::string &error) {
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  size_t read = 0;
  Attribute schedule = parseAttribute(text, context, Type(), &read);
  if (schedule && read != text.size())
    error = "expected the end of the schedule, found '" + text.drop_front(read).str() + "'";
  return schedule && read == text.size() ? schedule : Attribute();
}

ArrayAttr attn::getSchedules(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.getScheduleAttr();
  auto linear = dyn_cast<LinearOp>(op);
  return linear ? linear.getScheduleAttr() : ArrayAttr();
}

void attn::putSchedules(Operation *op, ArrayAttr schedules) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.setScheduleAttr(schedules);
  cast<LinearOp>(op).setScheduleAttr(schedules);
}

LogicalResult attn::setSchedules(Operation *op, ArrayAttr schedules, std::string &error) {
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  ArrayAttr before = getSchedules(op);
  putSchedules(op, schedules);
  if (succeeded(verify(op)))
    return success();
  putSchedules(op, before);
  return failure();
}

size_t attn::findServing(ArrayAttr schedules, int64_t qLen) {
  size_t index = 0;
  for (auto schedule : schedules.getAsRange<ScheduleAttrInterface>()) {
    if (schedule.getMaxQLen() == 0 || qLen <= schedule.getMaxQLen())
      break;
    ++index;
  }
  return index;
}

ArrayAttr attn::keepServing(ArrayAttr schedules, int64_t qLen) {
  Attribute serving = schedules[findServing(schedules, qLen)];
  return ArrayAttr::get(schedules.getContext(), withMaxQLen(serving, 0));
}

Attribute attn::withMaxQLen(Attribute schedule, int64_t maxQLen) {
  ScheduleText text(schedule);
  std::string limit = ("max_" + cast<ScheduleAttrInterface>(schedule).getLimitName()).str();
  if (maxQLen == 0)
    text.erase(limit);
  else
    text.set(limit, std::to_string(maxQLen));
  std::string error;
  return parseSchedule(text.str(), schedule.getContext(), error);
}
