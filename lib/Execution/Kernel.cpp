//===- Kernel.cpp - a compiled library, loaded ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Kernel.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Execution/CompileLibrary.h"
#include "attnc/Execution/ResultSizes.h"
#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Machine/Target.h"
#include "attnc/Target/Halide/Export.h"
#include "attnc/Target/Library/DLPack.h"

#include "llvm/ADT/StringExtras.h"

#include "dlpack.h"

#include <dlfcn.h>

using namespace mlir;
using namespace attnc;
using mlir::attn::TemporaryFolder;

/// Borrows the tensor's memory and shape; C order needs no strides.
static DLTensor getDLTensor(const Tensor &tensor) {
  DLTensor result = {};
  result.data = tensor.data();
  result.device = {kDLCPU, 0};
  result.ndim = tensor.getShape().size();
  result.dtype = *mlir::attn::getDLDataType(tensor.getElementType());
  result.shape = const_cast<int64_t *>(tensor.getShape().data());
  return result;
}

static LogicalResult reportLibrary(StringRef path) {
  return reportInternal("cannot load " + path + ": " + ::dlerror());
}

// The library stays loaded: its threads may still be asleep in it.
LogicalResult Kernel::load(StringRef path, size_t profiled) {
  void *library = ::dlopen(path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return reportLibrary(path);
  function = reinterpret_cast<decltype(function)>(::dlsym(library, (name + "_call").c_str()));
  workspace =
      reinterpret_cast<decltype(workspace)>(::dlsym(library, (name + "_workspace").c_str()));
  lastError =
      reinterpret_cast<decltype(lastError)>(::dlsym(library, (name + "_last_error").c_str()));
  bool hasProfile = true;
  if (profiled) {
    auto *times = reinterpret_cast<KernelTime *>(::dlsym(library, (name + "_profile").c_str()));
    hasProfile = times;
    profile = {times, hasProfile ? profiled : 0};
  }
  return function && workspace && lastError && hasProfile ? success() : reportLibrary(path);
}

static SmallVector<DLTensor> getDLTensors(ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs) {
  SmallVector<DLTensor> tensors;
  for (const Tensor &tensor : llvm::concat<const Tensor>(inputs, outputs))
    tensors.push_back(getDLTensor(tensor));
  return tensors;
}

static SmallVector<const DLTensor *> getPointers(ArrayRef<DLTensor> tensors) {
  return llvm::map_to_vector(tensors, [](const DLTensor &tensor) { return &tensor; });
}

LogicalResult Kernel::callWith(const void *tensors) {
  if (function(/*options=*/nullptr, tensors) != 0)
    return reportError(name, lastError());
  return success();
}

LogicalResult Kernel::call(ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs) {
  SmallVector<DLTensor> tensors = getDLTensors(inputs, outputs);
  return callWith(getPointers(tensors).data());
}

LogicalResult Kernel::callInPlace(ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs) {
  SmallVector<DLTensor> tensors = getDLTensors(inputs, outputs);
  SmallVector<const DLTensor *> pointers = getPointers(tensors);
  for (auto [output, input] : llvm::enumerate(inPlaceOf))
    if (input)
      pointers[inputs.size() + output] = pointers[*input];
  return callWith(pointers.data());
}

FailureOr<int64_t> Kernel::getWorkspace(ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs) {
  SmallVector<DLTensor> tensors = getDLTensors(inputs, outputs);
  int64_t bytes = workspace(getPointers(tensors).data());
  return bytes < 0 ? FailureOr<int64_t>(reportError(name, lastError())) : bytes;
}

void attnc::limitThreads(unsigned threads) {
  if (threads > 0)
    ::setenv("HL_NUM_THREADS", std::to_string(threads).c_str(), /*overwrite=*/1);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// A folder that programs may be loaded from, as from the cache folder if there is one.
static std::unique_ptr<TemporaryFolder> createFolder(StringRef cacheDir) {
  auto folder = cacheDir.empty() ? TemporaryFolder::create() : TemporaryFolder::create(cacheDir);
  if (!folder)
    folder = TemporaryFolder::create();
  if (folder)
    return std::move(*folder);
  (void)reportError("attnc", "cannot create a temporary folder: " + folder.getError().message());
  return nullptr;
}

std::unique_ptr<Kernel> Kernel::compile(Spec &spec, StringRef target, StringRef cacheDir,
                                        bool isProfiled) {
  if (failed(spec.lower(Stage::Scheduled, target)))
    return nullptr;
  return compile(spec.getFunction(), target, cacheDir, isProfiled);
}

std::unique_ptr<Kernel> Kernel::compile(func::FuncOp function, StringRef target, StringRef cacheDir,
                                        bool isProfiled) {
  std::string name = function.getName().str();
  if (!mlir::attn::isCIdentifier(name))
    name = "function";
  mlir::attn::LibraryOptions options;
  options.name = name;
  options.function = function.getName().str();
  options.cacheDir = cacheDir.str();
  options.isProfiled = isProfiled;
  auto module = function->getParentOfType<ModuleOp>();
  auto kernel = std::make_unique<Kernel>();
  for (unsigned index : llvm::seq(function.getNumArguments()))
    if (function.getArgAttr(index, mlir::attn::kResultAttr)) {
      auto input = function.getArgAttrOfType<IntegerAttr>(index, mlir::attn::kInPlaceAttr);
      kernel->inPlaceOf.push_back(input ? std::optional<unsigned>(input.getInt()) : std::nullopt);
    }
  FailureOr<mlir::attn::Library> library = compileLibrary({{target.str(), module}}, options);
  if (failed(library))
    return nullptr;
  std::unique_ptr<TemporaryFolder> folder = createFolder(cacheDir);
  if (!folder)
    return nullptr;
  std::string path = folder->file(name + ".so");
  kernel->name = name;
  size_t profiled =
      isProfiled ? llvm::range_size(module.getOps<mlir::attn::KernelOpInterface>()) : 0;
  if (failed(writeSharedLibrary(*library, path, function.getLoc())) ||
      failed(kernel->load(path, profiled)))
    return nullptr;
  return kernel;
}

LogicalResult attnc::checkRunsHere(StringRef target) {
  for (StringRef sanitizer : {"asan", "tsan"}) {
    std::string init = ("__" + sanitizer + "_init").str();
    if (mlir::attn::Target(target).has(sanitizer) && !::dlsym(RTLD_DEFAULT, init.c_str()))
      return reportError("--target", "expected a target without a sanitizer, whose runtime is no "
                                     "part of attnc, found " +
                                         sanitizer);
  }
  std::string error;
  FailureOr<std::string> host = halide::resolveTarget("host", error);
  if (failed(host))
    return success();
  std::string machine = mlir::attn::Target(*host).getMachine();
  if (machine != mlir::attn::Target(target).getMachine())
    return reportError("--target",
                       "expected a target of this machine, " + machine + ", found " + target);
  return success();
}

/// The shape of result `index`, by evaluating the graph.
static std::optional<SmallVector<int64_t>> computeShape(func::FuncOp graph, ArrayRef<Tensor> inputs,
                                                        size_t index) {
  if (!graph)
    return std::nullopt;
  auto arguments = llvm::map_to_vector(inputs, [](const Tensor &t) { return t.getShape(); });
  auto shapes = getResultShapes(graph, arguments);
  if (!shapes || llvm::any_of((*shapes)[index], [](int64_t size) { return size < 0; }))
    return std::nullopt;
  return (*shapes)[index];
}

FailureOr<std::vector<Tensor>> attnc::makeOutputs(const Signature &signature, const Sizes &sizes,
                                                  func::FuncOp graph, ArrayRef<Tensor> inputs,
                                                  StringRef place) {
  std::vector<Tensor> tensors;
  for (auto [index, output] : llvm::enumerate(signature.outputs)) {
    auto shape = sizes.getShape(output);
    if (!shape)
      shape = computeShape(graph, inputs, index);
    if (!shape)
      return reportError(place, "expected sizes of result " + output.name +
                                    " to follow from those of the arguments, found " +
                                    describe(output));
    if (!getNumElements(*shape))
      return reportError(place, "expected result " + output.name + " to fit into memory, found " +
                                    describe(*shape));
    tensors.emplace_back(output.elementType, *shape);
  }
  return tensors;
}
