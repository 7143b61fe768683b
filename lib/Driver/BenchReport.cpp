//===- BenchReport.cpp - tables of times ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchReport.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace attnc;
namespace json = llvm::json;

std::string attnc::describe(const Dims &dims) {
  if (dims.empty())
    return "fixed";
  auto describeDim = [](auto dim) {
    return mlir::attn::escapeText(dim.first) + '=' + std::to_string(dim.second);
  };
  return llvm::join(llvm::map_range(dims, describeDim), " ");
}

/// The kernels selected by size; if sizes selected none of several, their number.
static std::string describeCalled(ArrayRef<CalledKernel> called) {
  SmallVector<StringRef> names;
  for (CalledKernel call : called)
    if (call.isChosen || called.size() == 1)
      names.push_back(call.kernel.getName());
  if (names.empty())
    return std::to_string(called.size()) + " kernels";
  std::string more = names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "";
  return names.front().str() + more;
}

void attnc::printHeader(unsigned width) {
  llvm::outs()
      << llvm::left_justify("sizes", width)
      << "     min ms  median ms     cpu ms   GFLOP/s  % FMA      MB    GB/s  % read  workspace"
         "  kernel\n";
}

/// Below the row, indented: the kernels that ran, with their shares of the time in kernels.
static void printProfile(const Row &row) {
  double all = 0;
  for (const ProfileLine &line : row.profile)
    all += line.seconds;
  for (const ProfileLine &line : row.profile)
    TerminalStream(llvm::outs()) << llvm::format("  %10.4g ms %5.1f %%  ", 1e3 * line.seconds,
                                                 100 * line.seconds / all)
                                 << line.kernel << '\n';
}

void attnc::print(const Row &row, const std::optional<MachineLimits> &limits, unsigned width) {
  std::string gflops = "-", flopsShare = "-", readShare = "-";
  bool hasFlops = row.flops && *row.flops > 0;
  if (hasFlops)
    gflops = llvm::formatv("{0:F1}", row.getGflops());
  if (hasFlops && limits)
    flopsShare = llvm::formatv("{0:F0}", 100 * row.getFlopsShare(*limits));
  if (limits)
    readShare = llvm::formatv("{0:F0}", 100 * row.getReadShare(*limits));
  TerminalStream(llvm::outs()) << llvm::left_justify(describe(row.dims), width)
                               << llvm::format(
                                      " %10.4g %10.4g %10.4g %9s %6s %7.4g %7.3g %7s %10.4g  ",
                                      1e3 * row.min, 1e3 * row.median, 1e3 * row.cpu,
                                      gflops.c_str(), flopsShare.c_str(), row.bytes / 1e6,
                                      row.bytes / row.min / 1e9, readShare.c_str(),
                                      row.workspace / 1e6)
                               << describeCalled(row.called) << '\n';
  printProfile(row);
  llvm::outs().flush();
}

static json::Object toJson(const CalledKernel &call) {
  mlir::attn::KernelOpInterface kernel = call.kernel;
  json::Object object{{"name", mlir::attn::escapeJson(kernel.getName())},
                      {"chosen", call.isChosen}};
  for (StringRef name : {mlir::attn::kKindAttr, mlir::attn::kScheduleAttr})
    if (Attribute attribute = kernel->getAttr(name)) {
      auto text = dyn_cast<StringAttr>(attribute);
      std::string printed;
      llvm::raw_string_ostream(printed) << attribute;
      object[name] = mlir::attn::escapeJson(text ? text.str() : printed);
    }
  return object;
}

static json::Array toJson(ArrayRef<ProfileLine> profile) {
  json::Array lines;
  for (const ProfileLine &line : profile)
    lines.push_back(json::Object{{"kernel", mlir::attn::escapeJson(line.kernel)},
                                 {"ms", 1e3 * line.seconds},
                                 {"calls", line.calls}});
  return lines;
}

static json::Object toJson(const Row &row, const std::optional<MachineLimits> &limits) {
  json::Object sizes;
  for (auto [symbol, size] : row.dims)
    sizes[mlir::attn::escapeJson(symbol)] = size;
  json::Array kernels;
  for (const CalledKernel &call : row.called)
    kernels.push_back(toJson(call));
  json::Object object{{"sizes", std::move(sizes)},        {"min_ms", 1e3 * row.min},
                      {"median_ms", 1e3 * row.median},    {"cpu_ms", 1e3 * row.cpu},
                      {"samples", row.samples},           {"bytes", row.bytes},
                      {"workspace_bytes", row.workspace}, {"kernels", std::move(kernels)}};
  if (row.flops && *row.flops > 0) {
    object["flops"] = *row.flops;
    object["gflops"] = row.getGflops();
    if (limits)
      object["flops_share"] = row.getFlopsShare(*limits);
  }
  if (!row.profile.empty())
    object["profile"] = toJson(row.profile);
  if (limits)
    object["read_share"] = row.getReadShare(*limits);
  return object;
}

/// With a single thread, CPU time over wall time is its share of a core.
void attnc::remarkLoad(ArrayRef<Row> rows, unsigned numThreads) {
  double spread = 0, away = 0;
  for (const Row &row : rows) {
    spread = std::max(spread, row.getSpread());
    away = std::max(away, 1 - row.cpu / row.median);
  }
  if (numThreads == 1 && away > 0.1)
    reportNote("other work had this core for up to " + Twine(static_cast<int>(100 * away)) +
               "% of the time: compare cpu ms instead");
  else if (spread > 0.1)
    reportNote("medians are up to " + Twine(static_cast<int>(100 * spread)) +
               "% above the shortest times: other work on this machine, or too few --seconds");
}

void attnc::printJson(Spec &spec, StringRef target, bool isCold,
                      const std::optional<MachineLimits> &limits, ArrayRef<Row> rows) {
  json::Array array;
  for (const Row &row : rows)
    array.push_back(toJson(row, limits));
  json::Object object{{"function", mlir::attn::escapeJson(spec.getFunction().getName())},
                      {"target", target},
                      {"cold", isCold},
                      {"rows", std::move(array)}};
  if (limits)
    object["machine"] = json::Object{{"fma_gflops", limits->flops / 1e9},
                                     {"read_gb_per_s", limits->readBytes / 1e9}};
  llvm::outs() << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
}
