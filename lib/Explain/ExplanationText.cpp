//===- ExplanationText.cpp - explanations in words and in JSON ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/ScheduleAttrInterface.h"
#include "attnc/Explain/Explanation.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::escapeJson;
using mlir::attn::KernelOpInterface;
using mlir::attn::ScheduleAttrInterface;
namespace json = llvm::json;

/// Null for a kernel that has its directives alone.
static ScheduleAttrInterface getSchedule(KernelOpInterface kernel) {
  return kernel->getAttrOfType<ScheduleAttrInterface>(mlir::attn::kScheduleAttr);
}

static void printKernel(KernelOpInterface kernel, raw_ostream &os) {
  os << "    kernel " << kernel.getName();
  if (ScheduleAttrInterface schedule = getSchedule(kernel)) {
    if (int64_t most = schedule.getMaxQLen())
      os << " for q_len <= " << most;
    os << ": " << schedule;
  }
  os << "\n      " << kernel.describeSchedule() << '\n';
}

void attnc::printText(const Explanation &explanation, raw_ostream &to) {
  TerminalStream os(to);
  os << explanation.function << " for " << explanation.target << '\n';
  if (explanation.isGraph)
    os << "\nfusion:\n";
  for (const Remark &remark : explanation.remarks)
    os << "  " << remark.place << ": " << remark.text << '\n';
  if (explanation.isGraph && explanation.remarks.empty())
    os << "  nothing to fuse\n";
  os << "\ngroups:\n";
  for (const Group &group : explanation.groups) {
    os << "  " << group.op << " at " << group.place;
    if (!group.result.empty())
      os << " -> " << group.result;
    os << '\n';
    if (!group.parts.empty())
      os << "    with " << llvm::join(group.parts, "; ") << '\n';
    for (KernelOpInterface kernel : group.kernels)
      printKernel(kernel, os);
    if (group.cost && !group.cost->flops.isZero())
      os << "    FLOPs " << group.cost->flops.str() << '\n';
    if (group.cost)
      os << "    bytes " << group.cost->bytes.str() << '\n';
  }
}

static json::Object describeKernel(KernelOpInterface kernel) {
  json::Object object{{"name", escapeJson(kernel.getName())},
                      {"directives", escapeJson(kernel.describeSchedule())}};
  if (ScheduleAttrInterface schedule = getSchedule(kernel)) {
    object["schedule"] = llvm::formatv("{0}", schedule).str();
    object["max_q_len"] = schedule.getMaxQLen();
  }
  return object;
}

static json::Object describeGroup(const Group &group) {
  json::Array kernels;
  for (KernelOpInterface kernel : group.kernels)
    kernels.push_back(describeKernel(kernel));
  json::Object object{{"op", group.op},
                      {"place", escapeJson(group.place)},
                      {"result", escapeJson(group.result)},
                      {"parts", json::Array(llvm::map_range(group.parts, escapeJson))},
                      {"kernels", std::move(kernels)}};
  if (group.cost) {
    object["flops"] = group.cost->flops.json();
    object["bytes"] = group.cost->bytes.json();
  }
  return object;
}

json::Value attnc::toJson(const Explanation &explanation) {
  json::Array remarks, groups;
  for (const Remark &remark : explanation.remarks)
    remarks.push_back(
        json::Object{{"place", escapeJson(remark.place)}, {"text", escapeJson(remark.text)}});
  for (const Group &group : explanation.groups)
    groups.push_back(describeGroup(group));
  return json::Object{{"function", escapeJson(explanation.function)},
                      {"target", explanation.target},
                      {"fusion", std::move(remarks)},
                      {"groups", std::move(groups)}};
}
