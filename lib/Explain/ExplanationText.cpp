//===- ExplanationText.cpp - explanations as text and as JSON -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/ScheduleAttrInterface.h"
#include "attnc/Explain/Explanation.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace attnc;
using mlir::attn::escapeJson;
using mlir::attn::GpuInfo;
using mlir::attn::KernelOpInterface;
using mlir::attn::ScheduleAttrInterface;
namespace json = llvm::json;

/// Null for a kernel without a schedule attribute.
static ScheduleAttrInterface getSchedule(KernelOpInterface kernel) {
  return kernel->getAttrOfType<ScheduleAttrInterface>(mlir::attn::kScheduleAttr);
}

/// Whether it computes no result, but what a call is refused by.
static bool isCheck(KernelOpInterface kernel) { return kernel->hasAttr(mlir::attn::kCheckAttr); }

static ArrayRef<MainLoop> getMainLoops(const Explanation &explanation, KernelOpInterface kernel) {
  auto found = explanation.mainLoops.find(kernel.getName().str());
  if (found == explanation.mainLoops.end())
    return {};
  return found->second;
}

static void printMainLoop(const MainLoop &loop, raw_ostream &os) {
  os << llvm::formatv(
      "      on {0} ({1}): a step of the main loop has {2} instructions, {3} of them products "
      "({4:f2} each); at most {5:f0} TFLOP/s, by {6}\n",
      loop.gpu, loop.architecture, loop.instructions, loop.products,
      double(loop.instructions) / double(loop.products), loop.teraflops, loop.limit);
}

static void printKernel(KernelOpInterface kernel, const Explanation &explanation, raw_ostream &os) {
  os << (isCheck(kernel) ? "    check " : "    kernel ") << kernel.getName();
  if (ScheduleAttrInterface schedule = getSchedule(kernel)) {
    if (int64_t limit = schedule.getMaxQLen())
      os << " for " << schedule.getLimitName() << " <= " << limit;
    os << ": " << schedule;
    if (std::string products = schedule.describeProducts(explanation.target); !products.empty())
      os << "\n      " << products;
  }
  os << "\n      " << kernel.describeSchedule() << '\n';
  for (const MainLoop &loop : getMainLoops(explanation, kernel))
    printMainLoop(loop, os);
}

static void printPicture(const MaskPicture &picture, raw_ostream &os) {
  os << llvm::formatv("    its {0} rows (down) see {1}{2:f1} % of {3} keys (across):\n",
                      picture.qLen, picture.evaluatedRows < picture.qLen ? "about " : "",
                      100 * picture.visible, picture.kvLen);
  for (StringRef line : picture.lines)
    os << "      │" << line << "│\n";
}

/// Of an op that has no kernel.
static void printKernelsAround(ArrayRef<KernelOpInterface> kernels, raw_ostream &os) {
  os << "    computed in ";
  auto printName = [&](KernelOpInterface kernel) { os << kernel.getName(); };
  llvm::interleave(kernels, os, printName, " and ");
  os << (kernels.empty() ? "the kernels that read its result\n" : "\n");
}

/// How often it sends its bytes.
static StringRef getTimesSent(const OpKernels &op) {
  if (op.op == "attn.all_reduce")
    return "log2(ranks)";
  return op.isHalo ? "1" : "ranks - 1";
}

static void printExchange(const OpKernels &op, raw_ostream &os) {
  os << "    each rank sends " << op.cost->sent.str() << " bytes, "
     << (op.isHalo ? "to its neighbours" : (getTimesSent(op) + " times").str())
     << (op.op == "attn.ring" ? ", while it computes\n" : "\n");
  StringRef indent = "    exchange by ";
  for (StringRef line : op.estimates) {
    os << indent << line << '\n';
    indent = "      ";
  }
}

static bool isExchange(const OpKernels &op) { return op.cost && !op.cost->sent.isZero(); }

/// All but its name and its place.
static std::string describeBody(const OpKernels &op, const Explanation &explanation) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!op.result.empty())
    os << " -> " << op.result;
  os << '\n';
  if (!op.features.empty())
    os << "    with " << llvm::join(op.features, "; ") << '\n';
  if (op.picture)
    printPicture(*op.picture, os);
  for (KernelOpInterface kernel : op.kernels)
    printKernel(kernel, explanation, os);
  if (isExchange(op))
    printExchange(op, os);
  else if (op.kernels.empty())
    printKernelsAround(op.within, os);
  if (op.cost && !op.cost->flops.isZero())
    os << "    FLOPs " << op.cost->flops.str() << '\n';
  if (op.cost && !op.kernels.empty())
    os << "    bytes " << op.cost->bytes.str() << '\n';
  return text;
}

/// Equal ops, such as those of equal layers, are printed once, with the first one's place.
static void printOps(const Explanation &explanation, raw_ostream &os) {
  using NameAndBody = std::pair<StringRef, std::string>;
  llvm::MapVector<NameAndBody, std::vector<StringRef>, std::map<NameAndBody, unsigned>> places;
  for (const OpKernels &op : explanation.ops)
    places[{op.op, describeBody(op, explanation)}].push_back(op.place);
  for (const auto &[op, at] : places) {
    os << "  " << op.first << " at " << at.front();
    if (size_t more = at.size() - 1)
      os << " and " << more << (more == 1 ? " more place" : " more places");
    os << op.second;
  }
}

/// Which GPUs run the kernels, and which of several targets a library takes.
static void printGpu(StringRef target, raw_ostream &os) {
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || gpu->api != mlir::attn::GpuApi::cuda)
    return;
  os << "  on GPUs of compute capability " << gpu->capability / 10 << '.' << gpu->capability % 10
     << (gpu->hasWarpgroups() ? " alone" : " or above")
     << "; a library of several capabilities takes the highest that its GPU runs\n";
}

void attnc::printText(const Explanation &explanation, raw_ostream &to) {
  TerminalStream os(to);
  os << explanation.function << " for " << explanation.target << '\n';
  printGpu(explanation.target, os);
  if (explanation.isGraph)
    os << "\nfusion:\n";
  for (const Remark &remark : explanation.remarks)
    os << "  " << remark.place << ": " << remark.text << '\n';
  if (explanation.isGraph && explanation.remarks.empty())
    os << "  nothing to fuse\n";
  os << "\nops and their kernels:\n";
  printOps(explanation, os);
  if (explanation.lacksCudaTools)
    os << "\nno bounds of tensor cores: ptxas and nvdisasm are neither on the PATH nor named by "
          "PTXAS and NVDISASM\n";
}

static json::Array describeMainLoops(ArrayRef<MainLoop> loops) {
  json::Array all;
  for (const MainLoop &loop : loops)
    all.push_back(json::Object{{"gpu", loop.gpu},
                               {"architecture", loop.architecture},
                               {"instructions", loop.instructions},
                               {"products", loop.products},
                               {"special_functions", loop.special},
                               {"bound_tflops", loop.teraflops},
                               {"limit", loop.limit}});
  return all;
}

static json::Object describeKernel(KernelOpInterface kernel, const Explanation &explanation) {
  json::Object object{{"name", escapeJson(kernel.getName())},
                      {"check", isCheck(kernel)},
                      {"directives", escapeJson(kernel.describeSchedule())}};
  if (ScheduleAttrInterface schedule = getSchedule(kernel)) {
    object["schedule"] = llvm::formatv("{0}", schedule).str();
    object[("max_" + schedule.getLimitName()).str()] = schedule.getMaxQLen();
  }
  if (ArrayRef<MainLoop> loops = getMainLoops(explanation, kernel); !loops.empty())
    object["main_loops"] = describeMainLoops(loops);
  return object;
}

static json::Object describeOp(const OpKernels &op, const Explanation &explanation) {
  json::Array kernels;
  for (KernelOpInterface kernel : op.kernels)
    kernels.push_back(describeKernel(kernel, explanation));
  json::Object object{{"op", op.op},
                      {"place", escapeJson(op.place)},
                      {"result", escapeJson(op.result)},
                      {"features", json::Array(llvm::map_range(op.features, escapeJson))},
                      {"kernels", std::move(kernels)}};
  if (op.kernels.empty())
    object["computed_in"] = json::Array(llvm::map_range(
        op.within, [](KernelOpInterface kernel) { return escapeJson(kernel.getName()); }));
  if (op.picture)
    object["visible_keys"] = json::Object{{"q_len", op.picture->qLen},
                                          {"kv_len", op.picture->kvLen},
                                          {"share", op.picture->visible},
                                          {"evaluated_rows", op.picture->evaluatedRows},
                                          {"picture", json::Array(op.picture->lines)}};
  if (op.cost) {
    object["flops"] = op.cost->flops.json();
    object["bytes"] = op.cost->bytes.json();
  }
  if (isExchange(op))
    object["exchange"] = json::Object{{"bytes", op.cost->sent.json()},
                                      {"times", getTimesSent(op)},
                                      {"estimates", json::Array(op.estimates)}};
  return object;
}

json::Value attnc::toJson(const Explanation &explanation) {
  json::Array remarks, ops;
  for (const Remark &remark : explanation.remarks)
    remarks.push_back(
        json::Object{{"place", escapeJson(remark.place)}, {"text", escapeJson(remark.text)}});
  for (const OpKernels &op : explanation.ops)
    ops.push_back(describeOp(op, explanation));
  return json::Object{{"function", escapeJson(explanation.function)},
                      {"target", explanation.target},
                      {"fusion", std::move(remarks)},
                      {"ops", std::move(ops)}};
}
