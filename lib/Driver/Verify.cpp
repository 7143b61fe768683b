//===- Verify.cpp - attnc verify ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"
#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/ScheduleText.h"
#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Text/Escape.h"
#include "attnc/Verification/Verification.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace attnc;
namespace json = llvm::json;

static void print(const Case &tested, const Signature &signature) {
  TerminalStream os(llvm::outs());
  for (auto [symbol, size] : tested.dims)
    os << mlir::attn::escapeText(symbol) << '=' << size << ' ';
  os << tested.inputs << '\n';
  for (auto [result, output] : llvm::zip(tested.results, signature.outputs)) {
    os << "  " << output.name
       << llvm::format(": error %.2e, allowed %.2e", result.error, result.allowed);
    if (result.misplaced > 0)
      os << ", NaN or infinity misplaced in " << result.misplaced << " elements";
    os << (result.isGood() ? "" : "  WRONG") << '\n';
  }
}

static json::Value toJson(const Case &tested, const Signature &signature) {
  json::Object dims;
  for (auto [symbol, size] : tested.dims)
    dims[mlir::attn::escapeJson(symbol)] = size;
  json::Array results;
  for (auto [result, output] : llvm::zip(tested.results, signature.outputs))
    results.push_back(json::Object{{"name", output.name},
                                   {"error", result.error},
                                   {"allowed", result.allowed},
                                   {"misplaced", result.misplaced},
                                   {"pass", result.isGood()}});
  return json::Object{
      {"dims", std::move(dims)}, {"inputs", tested.inputs}, {"results", std::move(results)}};
}

static LogicalResult report(ArrayRef<Case> cases, size_t leftOut, const Signature &signature,
                            StringRef path, bool inJson) {
  size_t wrong = llvm::count_if(cases, [](const Case &tested) { return !tested.isGood(); });
  if (inJson) {
    json::Array all;
    for (const Case &tested : cases)
      all.push_back(toJson(tested, signature));
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  json::Value(json::Object{{"pass", wrong == 0},
                                                           {"left_out", int64_t(leftOut)},
                                                           {"cases", std::move(all)}}));
  } else if (wrong == 0) {
    llvm::outs() << cases.size() << " cases, all within the allowed error\n";
  }
  if (!inJson && leftOut > 0)
    llvm::outs() << leftOut << " more left out of a large graph: --all runs them\n";
  if (wrong > 0)
    return reportError(path, "expected errors within the allowed ones, found " + Twine(wrong) +
                                 " of " + Twine(cases.size()) + " cases beyond");
  return success();
}

/// The types are of two contexts.
static bool haveSameTypes(ArrayRef<Parameter> given, ArrayRef<Parameter> wanted) {
  auto describeElement = [](Type type) { return llvm::formatv("{0}", type).str(); };
  return llvm::equal(given, wanted, [&](const Parameter &a, const Parameter &b) {
    return describeElement(a.elementType) == describeElement(b.elementType) &&
           a.shape.size() == b.shape.size();
  });
}

static std::string list(ArrayRef<Parameter> parameters) {
  return llvm::join(llvm::map_range(parameters,
                                    [](const Parameter &parameter) {
                                      return parameter.name + " " + describe(parameter);
                                    }),
                    ", ");
}

static LogicalResult checkSignature(StringRef path, const Signature &given,
                                    const Signature &wanted) {
  if (haveSameTypes(given.inputs, wanted.inputs) && haveSameTypes(given.outputs, wanted.outputs))
    return success();
  return reportError(path, "expected the spec's arguments and results, " + list(wanted.inputs) +
                               " -> " + list(wanted.outputs) + ", found " + list(given.inputs) +
                               " -> " + list(given.outputs));
}

/// The size that all cases have; none if there are several.
static std::optional<int64_t> getOnlySize(ArrayRef<SizeList> lists, StringRef symbol) {
  auto list = llvm::find_if(lists, [&](const SizeList &each) { return each.symbol == symbol; });
  return list != lists.end() && list->sizes.size() == 1 ? std::optional(list->sizes.front())
                                                        : std::nullopt;
}

/// Of the kernels for calls of few and of many query rows, leaves out those that no case calls.
static void leaveOutUncalled(func::FuncOp function, ArrayRef<SizeList> sizes) {
  mlir::attn::SizeTracer tracer(function);
  function.walk([&](mlir::attn::AttentionOp op) {
    ArrayAttr schedules = op.getScheduleAttr();
    if (!schedules || schedules.size() < 2 || op.getOffsets())
      return;
    auto qLen = tracer.sum(op.getQuery(), /*dim=*/2).evaluate([&](StringRef symbol) {
      return getOnlySize(sizes, symbol);
    });
    if (qLen)
      op.setScheduleAttr(mlir::attn::keepServing(schedules, *qLen));
  });
}

/// Compiles the spec, or the one at `kernelPath`. Null after an error.
static std::unique_ptr<Kernel> compileKernel(Spec &spec, const VerifyInvocation &invocation,
                                             StringRef target) {
  std::unique_ptr<Spec> other;
  if (!invocation.kernelPath.empty()) {
    SpecSource source = invocation.spec;
    source.path = invocation.kernelPath;
    other = Spec::load(source);
    if (!other || failed(checkSignature(source.path, other->getSignature(), spec.getSignature())))
      return nullptr;
  }
  FailureOr<std::string> cacheDir = openCache(invocation.useCache);
  return failed(cacheDir) ? nullptr : Kernel::compile(other ? *other : spec, target, *cacheDir);
}

LogicalResult attnc::verify(const VerifyInvocation &invocation) {
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  FailureOr<std::string> target =
      spec ? resolveTarget(invocation.target) : FailureOr<std::string>();
  if (failed(target) || failed(checkRunsHere(*target)))
    return failure();
  bool named = hasDims(spec->getFunction());
  FailureOr<Graph> graph = Graph::copy(*spec);
  if (failed(graph) || failed(spec->lower(Stage::Fused, *target)))
    return failure();
  FailureOr<Graph> fused = Graph::copy(*spec);
  if (failed(fused))
    return failure();
  Signature signature = spec->getSignature();
  graph->nameDims(spec->getFunction());
  if (failed(checkSizes(invocation.sizes, getSymbols(signature))))
    return failure();
  limitThreads(invocation.threads);
  leaveOutUncalled(spec->getFunction(), invocation.sizes);
  std::unique_ptr<Kernel> kernel = compileKernel(*spec, invocation, *target);
  if (!kernel)
    return failure();
  VerifyOptions options{invocation.inputs, invocation.sizes, invocation.seed, invocation.allCases};
  Verification verification(*graph, *fused, signature, named, *kernel, std::move(options));
  FailureOr<std::vector<Case>> cases = verification.run([&](const Case &tested) {
    if (!invocation.asJson)
      print(tested, signature);
  });
  if (failed(cases))
    return failure();
  return report(*cases, verification.getLeftOut(), signature, invocation.spec.path,
                invocation.asJson);
}
