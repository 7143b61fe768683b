//===- Header.cpp - NAME.h and NAME.json
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text for embedders. Both files are made from the signature, so that they can't contradict the
// library's checks.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "Template.h"
#include "Variants.h"

#include "attnc/Interfaces/KernelOpInterface.h"
#include "attnc/Target/Library/Library.h"
#include "attnc/Text/Escape.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr char dlpackHeader[] = {
#include "dlpack.h.inc"
};

static constexpr char exchangeHeader[] = {
#include "attnc_exchange.h.inc"
};
static constexpr char mpiHeader[] = {
#include "attnc_mpi.h.inc"
};

std::vector<std::pair<StringRef, StringRef>> attn::getHeadersBeside(const Signature &signature) {
  std::vector<std::pair<StringRef, StringRef>> headers = {
      {"dlpack.h", {dlpackHeader, sizeof dlpackHeader}}};
  if (signature.isSpread) {
    headers.push_back({"attnc_exchange.h", {exchangeHeader, sizeof exchangeHeader}});
    headers.push_back({"attnc_mpi.h", {mpiHeader, sizeof mpiHeader}});
  }
  return headers;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

/// `NAME(` and the parameters, broken at 100 columns.
static void emitPrototype(raw_ostream &os, const Signature &signature, StringRef symbol,
                          StringRef options) {
  std::vector<std::string> words;
  if (!options.empty())
    words.push_back(options.str());
  auto names = signature.parameters();
  for (auto [tensor, name] : llvm::zip(signature.tensors, names))
    words.push_back((tensor.isOutput ? "DLTensor *" : "const DLTensor *") + name);
  std::string line = ("int " + symbol + "(").str();
  std::string indent(line.size(), ' ');
  for (auto [index, word] : llvm::enumerate(words)) {
    StringRef end = index + 1 == words.size() ? ");" : ",";
    if (line.size() + word.size() + end.size() + 1 > 100) {
      os << StringRef(line).rtrim() << "\n";
      line = indent;
    }
    line += word + end.str() + " ";
  }
  os << (words.empty() ? line + "void);" : StringRef(line).rtrim().str()) << "\n";
}

/// One line for each tensor, in columns.
static void emitTensors(raw_ostream &os, const Signature &signature) {
  auto names = signature.parameters();
  size_t width = 0;
  for (const std::string &name : names)
    width = std::max(width, name.size());
  for (auto [tensor, name] : llvm::zip(signature.tensors, names))
    os << " *   " << (tensor.isOutput ? "out " : "in  ") << llvm::left_justify(name, width) << "  "
       << getDtypeName(tensor.dtype) << " " << escapeComment(tensor.shape())
       << (getDtypeName(tensor.dtype) == "bool" ? ", of bytes 0 and 1" : "")
       << (tensor.inPlaceOf ? ", may share the memory of " + names[*tensor.inPlaceOf] : "") << "\n";
}

/// Maximum number of formula lines in a header; the JSON has all of them.
static constexpr size_t kMaxFormulas = 60;

/// One comment line, or several if it is longer than 100 columns.
static void emitWrapped(raw_ostream &os, StringRef formula) {
  std::string text = escapeComment(formula);
  StringRef rest = StringRef(text).ltrim();
  std::string begin = " *   " + std::string(text.size() - rest.size(), ' ');
  for (std::string next = begin + "    "; begin.size() + rest.size() > 100; begin = next) {
    size_t space = rest.take_front(100 - begin.size()).rfind(' ');
    if (space == StringRef::npos)
      break;
    os << begin << rest.take_front(space) << "\n";
    rest = rest.drop_front(space + 1);
  }
  os << begin << rest << "\n";
}

/// The formulas, before the list of tensors.
static void emitFormulas(raw_ostream &os, const LibraryOptions &options) {
  if (options.formulas.empty())
    return;
  os << "Computes\n *\n";
  for (const std::string &line : ArrayRef(options.formulas).take_front(kMaxFormulas))
    emitWrapped(os, line);
  if (options.formulas.size() > kMaxFormulas)
    os << " *   ... and " << options.formulas.size() - kMaxFormulas << " more lines in the JSON\n";
  os << " *\n * where @ is the matrix product";
  if (options.summary.empty())
    os << ".\n";
  else
    os << ", and q and k are the positions of a query and a key.\n * "
       << escapeComment(options.summary) << "\n";
  os << " *\n * ";
}

static constexpr StringLiteral headerTop = R"(/* @NAME@.h - made by attnc @VERSION@ for @TARGET@.
 *
 * All functions are thread-safe. They neither print nor abort: an error is a negative
 * status, with its text in @NAME@_last_error(). A call that returns @NAME@_INVALID has
 * written nothing.
 *
 * Tensors are in memory of the CPU@MEMORY@. The innermost dimension has stride 1 (strides
 * NULL: compact), the others any; data is aligned to its element. Outputs are
 * allocated by the caller and share no memory with other tensors.
@COPIES@ */
#ifndef @NAME@_H
#define @NAME@_H

@INCLUDE@#include "dlpack.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define @NAME@_ABI @ABI@

/* Upper bound in bytes of the stack used on each of a call's threads, the calling one included@DRIVER@.
 * Larger temporaries are in the workspace, or come from `allocate`. */
#define @NAME@_STACK_BYTES @STACK@

/* Statuses of a call other than 0. */
enum {
  @NAME@_INVALID = -1,   /* a tensor or an option is not as stated below */
  @NAME@_NO_MEMORY = -2, /* no memory for the workspace or for a kernel */
  @NAME@_FAILED = -3,    /* a kernel reported an error */
  @NAME@_NO_DEVICE = -4, /* no GPU, or no GPU driver (libraries for a GPU only) */
  @NAME@_NO_WEIGHTS = -5@MESSAGE@ /* no weights file is loaded (libraries with one only) */@NO_MESSAGE@
};

/* Options of one call. Set `size` to sizeof(@NAME@_options), unused fields to 0.
 * Results are bit-identical for any number of threads and any pool. */
typedef struct @NAME@_options {
  size_t size;

  /* Memory for temporaries, of any alignment; NULL: allocated by the call. */
  void *workspace;
  size_t workspace_bytes;

  /* Maximum number of threads of this call, the calling one included. 0: one per processor, or
   * as many as `parallel` provides. */
  int threads;

  /* Runs task(state, 0) to task(state, count - 1), concurrently or in any order, and returns
   * when the tasks that it ran have ended; the call runs the others itself. NULL: the
   * library's own threads, started when first needed. */
  void (*parallel)(void *pool, void (*task)(void *state, int index), void *state, int count);
  void *pool;

  /* Called from any of the call's threads. NULL: malloc and free. */
  void *(*allocate)(void *allocator, size_t bytes);
  void (*deallocate)(void *allocator, void *memory);
  void *allocator;
@CONTEXT@@EXCHANGE@} @NAME@_options;

)";

static constexpr StringLiteral headerBottom = R"(
/* The same on an array of tensors, in the order above. */
int @NAME@_call(const @NAME@_options *options, const DLTensor *const *tensors);

/* Bytes of workspace for a call on tensors of these shapes, at most INT64_MAX, or a negative
 * status. Data and strides are ignored. */
int64_t @NAME@_workspace(const DLTensor *const *tensors);

/* The error text of this thread's last failed call. */
const char *@NAME@_last_error(void);

/* The library's target that runs on this CPU, or NULL if none does. */
const char *@NAME@_target(void);

/* This library as JSON: versions, target, inputs, outputs, formulas, kernels. */
const char *@NAME@_describe(void);
@RELEASE@@LOAD@
#ifdef __cplusplus
}
#endif

#endif /* @NAME@_H */
)";

/// Only in the header of a library for a GPU.
static constexpr StringLiteral copiesPart = R"( *
 * CPU memory is copied to the GPU and back. GPU memory (CUDA pointers, OpenCL buffers) is used
 * in place; all GPU tensors of a call are on one device.
)";
static constexpr StringLiteral contextPart = R"(
  /* GPU: the CUcontext and CUstream, or the cl_context and in-order cl_command_queue, to run in;
   * results in GPU memory are complete when the stream is. NULL: for CUDA tensors the thread's
   * current context and its default stream, else the library's own; OpenCL buffers need both.
   * Constants and kernels stay in a context between calls: call @NAME@_release before
   * destroying it. */
  void *context;
  void *stream;
)";
/// Only in the header of a function whose sequence is spread, on CPUs.
static constexpr StringLiteral noMessagePart = R"(
  @NAME@_NO_MESSAGE = -6 /* a message failed: memory stays in use until the exchange ends */)";
static constexpr StringLiteral exchangePart = R"(
  void *context, *stream; /* unused */

  /* The processes that share the sequence, all of which call the function with tensors of the same
   * sizes: those below are the shards of one. attnc_mpi.h has one for MPI. NULL: one process. */
  const attnc_exchange *exchange;
)";
static constexpr StringLiteral releasePart = R"(
/* Frees the constants and kernels kept in the options' GPU context (NULL: the library's own).
 * No call may run there meanwhile; the next one creates them again. */
void @NAME@_release(const @NAME@_options *options);
)";

/// Only in the header of a library with weights beside it.
static constexpr StringLiteral weightsPart = R"(
/* Maps the constants from the file @FILE@, before the first call. Returns 0, or
 * a negative status if the file's SHA-256 is not this library's; does nothing if a file is
 * mapped already. Nothing is copied, and processes share the memory: the file must not change
 * while it is mapped; if it is truncated, a call ends the process (SIGBUS). */
int @NAME@_load(const char *path);

/* The same for a trusted file: checks only its head. */
int @NAME@_load_unchecked(const char *path);

/* Unmaps the file; while calls run, returns @NAME@_INVALID and keeps it mapped. */
int @NAME@_unload(void);
)";

/// Twice the kernels' temporaries, since a waiting thread may run another call's task, plus their
/// other frames, and the state that the checks of a call keep for each tensor.
static uint64_t getStackBytes(const Signature &signature) {
  constexpr uint64_t kFrames = 24 * 1024, kOfTensor = 256, kOfDim = 48;
  uint64_t maxRank = 0;
  for (const CParameter &tensor : signature.tensors)
    maxRank = std::max<uint64_t>(maxRank, tensor.dims.size());
  uint64_t ofTensors = signature.tensors.size() * (kOfTensor + maxRank * kOfDim);
  return llvm::alignTo(2 * kMaxStackBytes + kFrames + ofTensors, 4096);
}

static std::string fill(StringRef text, const Signature &signature, StringRef target) {
  auto onDevice = [&](StringRef part) { return signature.onDevice ? part.str() : std::string(); };
  auto ifSpread = [&](StringRef part) { return signature.isSpread ? part.str() : std::string(); };
  return fillTemplate(text, {{"INCLUDE", ifSpread("#include \"attnc_exchange.h\"\n")},
                             {"EXCHANGE", ifSpread(exchangePart)},
                             {"MESSAGE", ifSpread(",")},
                             {"NO_MESSAGE", ifSpread(noMessagePart)},
                             {"MEMORY", onDevice(" or GPU")},
                             {"COPIES", onDevice(copiesPart)},
                             {"CONTEXT", onDevice(contextPart)},
                             {"RELEASE", onDevice(releasePart)},
                             {"LOAD", signature.weights ? weightsPart.str() : std::string()},
                             {"DRIVER", onDevice(",\n * without the GPU driver's share")},
                             {"STACK", std::to_string(getStackBytes(signature))},
                             {"FILE", getWeightsFileName(signature.name)},
                             {"NAME", signature.name},
                             {"TARGET", target.str()},
                             {"ABI", std::to_string(abiVersion)},
                             {"VERSION", ATTNC_VERSION}});
}

std::string attn::emitHeader(const Signature &signature, StringRef target,
                             const LibraryOptions &options) {
  std::string text = fill(headerTop, signature, target);
  llvm::raw_string_ostream os(text);
  os << "/* ";
  emitFormulas(os, options);
  os << "Dimensions of the same name have the same size:\n";
  emitTensors(os, signature);
  os << " */\n";
  emitPrototype(os, signature, signature.name, "");
  os << "\n/* The same with options, which may be NULL. */\n";
  emitPrototype(os, signature, signature.name + "_ex",
                "const " + signature.name + "_options *options");
  os << fill(headerBottom, signature, target);
  return text;
}

//===----------------------------------------------------------------------===//
// The metadata
//===----------------------------------------------------------------------===//

static llvm::json::Object describe(const CParameter &tensor) {
  llvm::json::Array dims;
  for (const Dim &dim : tensor.dims) {
    if (dim.extent >= 0)
      dims.push_back(dim.extent);
    else if (dim.symbol.empty())
      dims.push_back(nullptr);
    else
      dims.push_back(escapeJson(dim.symbol));
  }
  llvm::json::Object object{
      {"name", tensor.name}, {"dtype", getDtypeName(tensor.dtype)}, {"dims", std::move(dims)}};
  if (tensor.inPlaceOf)
    object["in_place"] = *tensor.inPlaceOf;
  return object;
}

static llvm::json::Value describe(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return llvm::json::Value(escapeJson(text));
  if (auto number = dyn_cast<IntegerAttr>(attr); number && !number.getType().isInteger(1))
    return llvm::json::Value(number.getInt());
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return escapeJson(text);
}

/// A kernel's name, and the attributes that earlier passes put on it.
static llvm::json::Object describe(KernelOpInterface kernel) {
  llvm::json::Object object{{"name", escapeJson(kernel.getName())}};
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    object[escapeJson(attr.getName())] = describe(attr.getValue());
  return object;
}

static int64_t countConstantBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto global : module.getOps<memref::GlobalOp>())
    bytes +=
        global.getType().getNumElements() * ((global.getType().getElementTypeBitWidth() + 7) / 8);
  return bytes;
}

std::string attn::emitMetadata(const Signature &signature, ArrayRef<Variant> variants,
                               const LibraryOptions &options) {
  llvm::json::Array inputs, outputs, pipelines;
  for (const CParameter &tensor : signature.tensors)
    (tensor.isOutput ? outputs : inputs).push_back(describe(tensor));
  for (const Variant &variant : variants)
    for (auto kernel : variant.getModule().getOps<KernelOpInterface>()) {
      pipelines.push_back(describe(kernel));
      if (variants.size() > 1)
        pipelines.back().getAsObject()->try_emplace("target", variant.target);
    }
  llvm::json::Object object{
      {"abi", abiVersion},
      {"attnc", ATTNC_VERSION},
      {"llvm", LLVM_VERSION_STRING},
      {"name", signature.name},
      {"target", joinTargets(variants)},
      {"runtime", options.withRuntime ? StringRef("inside") : getRuntimeName()},
      {"inputs", std::move(inputs)},
      {"outputs", std::move(outputs)},
      {"pipelines", std::move(pipelines)},
      {"constant_bytes", countConstantBytes(variants.front().getModule())}};
  if (signature.weights)
    object["weights"] = llvm::json::Object{{"file", getWeightsFileName(signature.name)},
                                           {"bytes", int64_t(signature.weights->fileBytes)},
                                           {"sha256", signature.weights->sha256}};
  if (!options.formulas.empty()) {
    object["summary"] = options.summary;
    object["graph"] = llvm::json::Array(llvm::map_range(options.formulas, &escapeJson));
  }
  for (const auto &[key, value] : options.about)
    object.try_emplace(key, value);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
  return text;
}
