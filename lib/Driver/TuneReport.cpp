//===- TuneReport.cpp - what a search of schedules found ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TuneReport.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace attnc;
namespace json = llvm::json;

static json::Value toJson(const Finding &finding) {
  return json::Object{
      {"op", finding.place},
      {finding.limitName, finding.measured.qLen},
      {"sizes", finding.measured.sizes},
      {"tried", int64_t(finding.tried)},
      {"before", json::Object{{"schedule", finding.before}, {"ms", finding.measured.before}}},
      {"after", json::Object{{"schedule", finding.after}, {"ms", finding.measured.milliseconds}}}};
}

static void printJson(const TuneInvocation &invocation, StringRef target,
                      ArrayRef<Finding> findings, bool isChecked) {
  json::Array all;
  for (const Finding &finding : findings)
    all.push_back(toJson(finding));
  llvm::outs() << llvm::formatv("{0:2}\n",
                                json::Value(json::Object{{"cpu", mlir::attn::getProcessor()},
                                                         {"target", target},
                                                         {"schedules", invocation.spec.schedules},
                                                         {"reference", isChecked},
                                                         {"kernels", std::move(all)}}));
}

static void printText(const TuneInvocation &invocation, ArrayRef<Finding> findings,
                      bool isChecked) {
  TerminalStream os(llvm::outs());
  for (const Finding &finding : findings) {
    const mlir::attn::Measurement &measured = finding.measured;
    os << finding.place << ": " << finding.limitName << " " << measured.qLen;
    if (!measured.sizes.empty())
      os << " (" << measured.sizes << ")";
    os << ", " << finding.tried << " schedules tried on " << mlir::attn::getProcessor() << '\n'
       << llvm::formatv("  before {0,8:f3} ms  {1}\n", measured.before, finding.before);
    if (finding.isBetter())
      os << llvm::formatv("  after  {0,8:f3} ms  {1}\n  {2:f2} times as fast, kept in {3}\n",
                          measured.milliseconds, finding.after,
                          measured.before / measured.milliseconds, invocation.spec.schedules);
    else
      os << "  none was faster\n";
  }
  if (!isChecked)
    reportNote("results were compared with those of the kernel before: the reference would take "
               "minutes at these sizes");
}

void attnc::print(const TuneInvocation &invocation, StringRef target, ArrayRef<Finding> findings,
                  bool isChecked) {
  if (invocation.asJson)
    printJson(invocation, target, findings, isChecked);
  else
    printText(invocation, findings, isChecked);
}
