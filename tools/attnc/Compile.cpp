//===- Compile.cpp - attnc compile ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

namespace {
/// Lists the valid kinds in the error for a wrong one.
struct KindParser : cl::parser<Kind> {
  using parser::parser;
  void initialize() {
    for (const KindInfo &info : getKinds())
      addLiteralOption(info.name, info.kind, info.text);
  }
  bool parse(cl::Option &option, StringRef name, StringRef text, Kind &kind) {
    for (const KindInfo &info : getKinds())
      if (info.name == text) {
        kind = info.kind;
        return false;
      }
    auto names = llvm::map_range(getKinds(), [](const KindInfo &info) { return info.name; });
    return option.error("expected one of " + llvm::join(names, ", ") + ", found '" + text + "'");
  }
};
} // namespace

static cl::list<Kind, bool, KindParser> emit("emit", cl::CommaSeparated, cl::cat(category()),
                                             cl::sub(compileCommand()),
                                             cl::desc("Artefacts to write (default: static_library,"
                                                      "c_header,json):"));
static cl::opt<bool> shared("shared", cl::cat(category()), cl::sub(compileCommand()),
                            cl::desc("Write a shared library too"));

static cl::opt<bool>
    noRuntime("no-runtime", cl::cat(category()), cl::sub(compileCommand()),
              cl::desc("Leave Halide's runtime out of the static library: link "
                       "libattnc_runtime.a (see `attnc runtime`) once for all such "
                       "libraries of a program"));

static cl::opt<bool> weightsBeside(
    "weights-beside", cl::cat(category()), cl::sub(compileCommand()),
    cl::desc("Keep large constants out of the library, in NAME.weights.safetensors, which "
             "NAME_load maps into memory; processes share it"));

static cl::opt<bool> withSelftest("with-selftest", cl::cat(category()), cl::sub(compileCommand()),
                                  cl::desc("Write NAME_selftest.c too: a program that compares the "
                                           "library, on any machine, with the reference"));

enum class Fallback { none, cpu };
static cl::opt<Fallback>
    fallback("fallback", cl::init(Fallback::none), cl::cat(category()), cl::sub(compileCommand()),
             cl::desc("Fallback of a GPU library without a GPU (default: none):"),
             cl::values(clEnumValN(Fallback::none, "none", "calls return a status"),
                        clEnumValN(Fallback::cpu, "cpu", "calls run on the CPU")));

static constexpr llvm::StringLiteral examples = R"(
SPEC is .mlir text or bytecode at any stage: a graph in the attn dialect, a fused graph, or
halide pipelines. A schedule is edited as a fused graph's attribute, or, in pipelines, directive by
directive (halide.split … by 48): their attn.schedule only tells where these came from. Files appear only when all of them are done.
-o - prints one text artefact. --target takes several targets, comma-separated: a call runs the best
one for its CPU and its GPU. Kinds made once per kernel are named NAME.KERNEL.EXT if there are several kernels.

Examples:
  attnc compile spec.mlir -o out             out/libNAME.a, NAME.h, NAME.json and dlpack.h
  cc -Iout main.c out/libNAME.a -lm -lpthread -ldl
  attnc compile spec.mlir -o out --target x86-64-linux-avx2-fma --name attend
  attnc compile spec.mlir -o out --target x86-64-linux,x86-64-linux-avx2,x86-64-linux-avx512_skylake
  attnc compile spec.mlir -o out --shared --emit cmake_package,pkg_config
  attnc compile spec.mlir -o out --emit static_library,c_header,sbom
  attnc compile spec.mlir -o out --weights model.safetensors
  attnc compile spec.mlir -o out --weights model.safetensors --weights-beside
  attnc compile spec.mlir -o out --with-selftest
  cc out/NAME_selftest.c out/libNAME.a -lm -lpthread -ldl -o selftest && ./selftest
  attnc compile spec.mlir -o out --no-runtime && attnc runtime -o out
  cc -Iout main.c out/libNAME.a out/libattnc_runtime.a -lm -lpthread -ldl
  attnc compile spec.mlir --emit fused -o - > tuned.mlir
  attnc compile tuned.mlir --emit stmt,assembly -o out
)";

static LogicalResult runCompile() {
  CompileInvocation invocation;
  invocation.spec = getSpecSource();
  invocation.targets = targetName;
  if (libraryName.getNumOccurrences() > 0)
    invocation.name = libraryName;
  invocation.outputDir = outputDir;
  invocation.kinds.append(emit.begin(), emit.end());
  invocation.useCache = !noCache;
  invocation.isShared = shared;
  invocation.withRuntime = !noRuntime;
  invocation.weightsBeside = weightsBeside;
  invocation.withSelftest = withSelftest;
  invocation.fallsBackToCpu = fallback == Fallback::cpu;
  return compile(invocation);
}

const Command commands::compile = {compileCommand(), runCompile, examples};
