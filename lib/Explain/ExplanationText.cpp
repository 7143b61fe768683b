//===- ExplanationText.cpp - explanations in words and in JSON ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Explain/Explanation.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::escapeJson;
using mlir::attn::KernelOpInterface;
namespace json = llvm::json;

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
    if (!group.schedule.empty())
      os << "    schedule " << group.schedule << '\n';
    for (KernelOpInterface kernel : group.kernels)
      os << "    pipeline " << kernel.getName() << ": " << kernel.describeSchedule() << '\n';
    if (group.cost && !group.cost->flops.isZero())
      os << "    FLOPs " << group.cost->flops.str() << '\n';
    if (group.cost)
      os << "    bytes " << group.cost->bytes.str() << '\n';
  }
}

static json::Object describeGroup(const Group &group) {
  json::Array pipelines;
  for (KernelOpInterface kernel : group.kernels)
    pipelines.push_back(json::Object{{"name", escapeJson(kernel.getName())},
                                     {"directives", escapeJson(kernel.describeSchedule())}});
  json::Object object{{"op", group.op},
                      {"place", escapeJson(group.place)},
                      {"result", escapeJson(group.result)},
                      {"parts", json::Array(llvm::map_range(group.parts, escapeJson))},
                      {"schedule", escapeJson(group.schedule)},
                      {"pipelines", std::move(pipelines)}};
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
