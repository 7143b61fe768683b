//===- MainLoop.cpp - what the main loop of a CUDA kernel costs -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp's step through the main loop takes an issue slot of its scheduler for each instruction,
// and occupies the scheduler's tensor core and special function unit for some cycles a product
// (HMMA, or several in one HGMMA of its warpgroup) and an exponential (MUFU). Warps overlap all
// three at best: the longest is the bound.
//
//===----------------------------------------------------------------------===//

#include "MainLoop.h"

#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Machine/GpuInfo.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <array>

using namespace mlir;
using namespace attnc;
using mlir::attn::GpuInfo;
using mlir::attn::KernelOpInterface;
using mlir::attn::TemporaryFolder;

namespace {
/// A GPU as NVIDIA's data sheets have it.
struct NamedGpu {
  const char *name, *architecture;
  int64_t capability;
  /// Dense bf16 and f16 with sums in f32, TFLOP/s.
  double peak;
  /// Cycles of a tensor core for an m16n8k16 product at that peak.
  int64_t productCycles;
};
} // namespace

static constexpr NamedGpu kGpus[] = {{"A100", "sm_80", 80, 312, 8},
                                     {"L40S", "sm_89", 89, 362, 16},
                                     {"H100 SXM", "sm_90a", 90, 989, 4}};
/// 4 of a warp's 32 lanes a cycle and scheduler.
static constexpr int64_t kSpecialCycles = 8;
/// Loops with fewer products, as of a rest of the keys, are no main loops.
static constexpr int64_t kFewestProducts = 8;

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

static std::string findTool(StringRef name, const char *variable) {
  const char *given = std::getenv(variable);
  auto path = llvm::sys::findProgramByName(given && *given ? StringRef(given) : name);
  return path ? *path : "";
}

std::optional<CudaTools> CudaTools::find() {
  CudaTools tools{findTool("ptxas", "PTXAS"), findTool("nvdisasm", "NVDISASM")};
  return tools.ptxas.empty() || tools.nvdisasm.empty() ? std::nullopt : std::optional(tools);
}

static std::string readFile(StringRef path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  return text ? (*text)->getBuffer().str() : "";
}

/// What the program writes to both streams; none, with a warning at the kernel, if it fails.
static std::optional<std::string> runTool(KernelOpInterface kernel, ArrayRef<StringRef> command,
                                          StringRef output) {
  constexpr unsigned kMostSeconds = 120;
  std::string error;
  std::optional<StringRef> redirects[] = {StringRef(), output, output};
  int code = llvm::sys::ExecuteAndWait(command.front(), command, /*Env=*/std::nullopt, redirects,
                                       kMostSeconds, /*MemoryLimit=*/0, &error);
  std::string text = readFile(output);
  if (code == 0)
    return text;
  StringRef reason = error.empty() ? StringRef(text).split('\n').first : StringRef(error);
  kernel->emitWarning("no bounds: ") << command.front() << ": " << reason;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

namespace {
/// A label or an instruction.
struct Line {
  bool isLabel = false;
  /// Whether the line after it may run next.
  bool continues = true;
  /// Without suffixes.
  StringRef opcode;
  /// In products of m16n8k16 of a warp.
  int64_t products = 0;
  /// Of a label its name, of a branch where it leads to.
  StringRef label;
};

/// What the instructions of one way through a loop come to.
struct Tally {
  int64_t products = 0, instructions = 0, special = 0;

  /// More products, then fewer instructions.
  bool isBetterThan(const Tally &other) const {
    return products != other.products ? products > other.products
                                      : instructions < other.instructions;
  }
};
} // namespace

static StringRef findLabel(StringRef text) {
  size_t at = text.find(".L_x_");
  return at == StringRef::npos ? StringRef() : text.substr(at).take_while([](char c) {
    return isalnum(c) || c == '_' || c == '.';
  });
}

/// `HMMA.16816.F32.BF16` is one product, `HGMMA.64x128x16.F32.BF16` of a warpgroup 16 for each
/// warp.
static int64_t countProducts(StringRef opcode, StringRef text) {
  if (opcode != "HGMMA")
    return opcode == "HMMA";
  int64_t columns = 0;
  text.consume_front("HGMMA.64x");
  text.consumeInteger(10, columns);
  return columns / 8;
}

/// `/*0120*/  @!P0 BRA `(.L_x_3) ;`
static std::optional<Line> readLine(StringRef text) {
  Line line;
  text = text.trim();
  if (text.starts_with(".L_x_") && text.ends_with(":")) {
    line.isLabel = true;
    line.label = text.drop_back();
    return line;
  }
  if (!text.consume_front("/*"))
    return std::nullopt;
  auto [address, rest] = text.split("*/");
  if (address.size() < 4 || !llvm::all_of(address, llvm::isHexDigit) || !rest.contains(';'))
    return std::nullopt;
  rest = rest.trim();
  bool isConditional = rest.starts_with("@");
  if (isConditional)
    rest = rest.split(' ').second.ltrim();
  line.opcode = rest.take_while([](char c) { return isalnum(c) || c == '_'; });
  line.products = countProducts(line.opcode, rest);
  bool isBranch = line.opcode == "BRA";
  line.continues = isConditional || !(isBranch || line.opcode == "EXIT" || line.opcode == "RET");
  if (isBranch)
    line.label = findLabel(rest);
  return line;
}

/// The code of each kernel of a module.
static std::vector<std::vector<Line>> readKernels(StringRef disassembly) {
  std::vector<std::vector<Line>> kernels;
  for (StringRef text : llvm::split(disassembly, '\n')) {
    if (text.contains(".section") && text.contains(".text."))
      kernels.emplace_back();
    if (auto line = readLine(text); line && !kernels.empty())
      kernels.back().push_back(*line);
  }
  return kernels;
}

static Tally countLine(const Line &line) {
  if (line.isLabel)
    return {};
  return {line.products, 1, line.opcode == "MUFU"};
}

/// The way from `first` to the branch back at `last` with most products, then fewest instructions:
/// what most steps run, as branches around it are for partial masks and maxima that move. Loops
/// inside are not followed back.
static Tally countLoop(ArrayRef<Line> code, const llvm::StringMap<size_t> &labels, size_t first,
                       size_t last) {
  std::vector<std::optional<Tally>> best(last - first + 1);
  best.back() = countLine(code[last]);
  for (size_t i = last; i-- > first;) {
    auto take = [&](size_t next) {
      const std::optional<Tally> &rest = best[next - first];
      if (!rest)
        return;
      Tally own = countLine(code[i]);
      Tally all{own.products + rest->products, own.instructions + rest->instructions,
                own.special + rest->special};
      if (!best[i - first] || all.isBetterThan(*best[i - first]))
        best[i - first] = all;
    };
    if (code[i].continues)
      take(i + 1);
    if (auto at = labels.find(code[i].label);
        !code[i].isLabel && at != labels.end() && at->second > i && at->second <= last)
      take(at->second);
  }
  return best.front().value_or(Tally());
}

/// The loop with most products; none has few.
static std::optional<Tally> findMainLoop(ArrayRef<Line> code) {
  llvm::StringMap<size_t> labels;
  for (auto [i, line] : llvm::enumerate(code))
    if (line.isLabel)
      labels[line.label] = i;
  Tally most;
  for (auto [last, line] : llvm::enumerate(code)) {
    auto first = line.isLabel ? labels.end() : labels.find(line.label);
    if (first == labels.end() || first->second >= last)
      continue;
    if (Tally loop = countLoop(code, labels, first->second, last); loop.isBetterThan(most))
      most = loop;
  }
  return most.products >= kFewestProducts ? std::optional(most) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static MainLoop makeMainLoop(const NamedGpu &gpu, const Tally &loop) {
  std::pair<int64_t, const char *> limits[] = {{loop.products * gpu.productCycles, "tensor cores"},
                                               {loop.instructions, "issue slots"},
                                               {loop.special * kSpecialCycles, "exponentials"}};
  auto longest = llvm::max_element(limits, llvm::less_first());
  return {gpu.name,          gpu.architecture,
          loop.instructions, loop.products,
          loop.special,      gpu.peak * double(limits[0].first) / double(longest->first),
          longest->second};
}

FailureOr<std::vector<MainLoop>> attnc::countMainLoops(KernelOpInterface kernel, StringRef target,
                                                       const CudaTools &tools) {
  auto folder = TemporaryFolder::create();
  if (!folder)
    return kernel->emitError("cannot create a temporary folder: ") << folder.getError().message();
  std::string ptx = (*folder)->file("kernel.ptx"), cubin = (*folder)->file("kernel.cubin"),
              output = (*folder)->file("output");
  if (failed(kernel.compile(target, {{mlir::attn::Artefact::device_code, ptx}})))
    return failure();
  std::vector<MainLoop> loops;
  for (const NamedGpu &gpu : kGpus) {
    if (gpu.capability < GpuInfo::fromTarget(target)->capability)
      continue;
    std::string architecture = std::string("-arch=") + gpu.architecture;
    std::optional<std::string> text =
        runTool(kernel, {tools.ptxas, architecture, ptx, "-o", cubin}, output);
    if (text)
      text = runTool(kernel, {tools.nvdisasm, "-c", cubin}, output);
    if (!text)
      break;
    for (const std::vector<Line> &code : readKernels(*text))
      if (std::optional<Tally> loop = findMainLoop(code))
        loops.push_back(makeMainLoop(gpu, *loop));
  }
  return loops;
}
