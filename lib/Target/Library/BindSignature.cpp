//===- BindSignature.cpp - binds the support code to one spec -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BindSignature.h"

#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Binds the support code to one spec.
class Binder {
public:
  Binder(llvm::Module &module, const Signature &signature)
      : module(module), signature(signature), builder(module.getContext()),
        pointer(builder.getPtrTy()) {}

  void defineSignature(ArrayRef<Variant> variants);
  void defineFeatures();
  void defineEntry(StringRef name, bool withOptions);
  void defineDescribe(StringRef metadata);
  void rename(StringRef from, const std::string &to);

private:
  llvm::Constant *text(StringRef value);
  /// A name within a message, cut so that three of them fit.
  llvm::Constant *message(StringRef name) { return text(escapeText(name, /*most=*/100)); }
  llvm::Constant *number(int64_t value, unsigned bits) {
    return llvm::ConstantInt::get(builder.getIntNTy(bits), value, /*IsSigned=*/true);
  }
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements);
  llvm::Constant *dims(const CParameter &tensor, unsigned index);
  llvm::Constant *variant(const Variant &variant, unsigned index);
  llvm::Constant *weights();

  llvm::Module &module;
  const Signature &signature;
  llvm::IRBuilder<> builder;
  llvm::PointerType *pointer;
  /// The first tensor and dimension of each symbol.
  llvm::StringMap<std::pair<unsigned, unsigned>> symbols;
};

} // namespace

llvm::Constant *Binder::text(StringRef value) {
  return builder.CreateGlobalString(value, "text", 0, &module);
}

/// A private constant array, or null if it is empty.
llvm::Constant *Binder::array(ArrayRef<llvm::Constant *> elements) {
  if (elements.empty())
    return llvm::ConstantPointerNull::get(pointer);
  auto *type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
  return new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage,
                                  llvm::ConstantArray::get(type, elements));
}

/// attnc_dim[rank].
llvm::Constant *Binder::dims(const CParameter &tensor, unsigned index) {
  std::vector<llvm::Constant *> result;
  for (auto [position, dim] : llvm::enumerate(tensor.dims)) {
    std::pair<int, int> like{-1, -1};
    if (!dim.symbol.empty()) {
      auto [seen, isNew] = symbols.try_emplace(dim.symbol, index, position);
      if (!isNew)
        like = seen->second;
    }
    llvm::Constant *symbol =
        dim.symbol.empty() ? llvm::ConstantPointerNull::get(pointer) : message(dim.symbol);
    result.push_back(llvm::ConstantStruct::getAnon(
        {number(dim.extent, 64), symbol, number(like.first, 32), number(like.second, 32)}));
  }
  return array(result);
}

static std::string getEntryName(StringRef entry, unsigned variant) {
  return ("attnc_" + entry + "_" + Twine(variant)).str();
}

/// attnc_variant.
llvm::Constant *Binder::variant(const Variant &variant, unsigned index) {
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(variant.target);
  return llvm::ConstantStruct::getAnon({text(variant.target), number(variant.features, 64),
                                        module.getFunction(getEntryName("host", index)),
                                        module.getFunction(getEntryName("workspace", index)),
                                        number(gpu ? gpu->capability : 0, 32),
                                        number(gpu && gpu->hasWarpgroups(), 32)});
}

/// const attnc_weights *.
llvm::Constant *Binder::weights() {
  if (!signature.weights)
    return llvm::ConstantPointerNull::get(pointer);
  return array({llvm::ConstantStruct::getAnon(
      {text(signature.name), text(signature.weights->sha256),
       number(signature.weights->dataOffset, 64), number(signature.weights->fileBytes, 64)})});
}

/// attnc_the_signature, with the layouts of attnc_support.h.
void Binder::defineSignature(ArrayRef<Variant> variants) {
  std::vector<llvm::Constant *> choices;
  for (auto [index, each] : llvm::enumerate(variants))
    choices.push_back(variant(each, index));
  std::vector<llvm::Constant *> tensors;
  size_t maxRank = 0;
  for (auto [index, tensor] : llvm::enumerate(signature.tensors)) {
    maxRank = std::max(maxRank, tensor.dims.size());
    tensors.push_back(llvm::ConstantStruct::getAnon(
        {message(tensor.name), dims(tensor, index), number(tensor.dims.size(), 32),
         number(tensor.dtype.code, 8), number(tensor.dtype.bits, 8), number(tensor.isOutput, 8),
         number(tensor.inPlaceOf ? int64_t(*tensor.inPlaceOf) : -1, 32)}));
  }
  llvm::Constant *value = llvm::ConstantStruct::getAnon(
      {array(tensors), array(choices), weights(), number(tensors.size(), 32),
       number(choices.size(), 32), number(maxRank, 32)});
  auto *declared = module.getNamedGlobal("attnc_the_signature");
  auto *defined = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                           llvm::GlobalValue::InternalLinkage, value, "signature");
  declared->replaceAllUsesWith(defined);
  declared->eraseFromParent();
}

/// For a target on which no features are tested.
void Binder::defineFeatures() {
  llvm::Function *function = module.getFunction("attnc_cpu_features");
  if (!function->isDeclaration())
    return;
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(number(0, 64));
}

/// int NAME([const NAME_options *,] const DLTensor *…, DLTensor *…).
void Binder::defineEntry(StringRef name, bool withOptions) {
  size_t count = signature.tensors.size();
  std::vector<llvm::Type *> parameters(count + withOptions, pointer);
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), parameters, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  auto *tensors = builder.CreateAlloca(llvm::ArrayType::get(pointer, count));
  for (size_t i = 0; i < count; ++i)
    builder.CreateStore(function->getArg(i + withOptions),
                        builder.CreateConstGEP2_64(tensors->getAllocatedType(), tensors, 0, i));
  llvm::Value *options = withOptions ? static_cast<llvm::Value *>(function->getArg(0))
                                     : llvm::ConstantPointerNull::get(pointer);
  builder.CreateRet(builder.CreateCall(module.getFunction("attnc_call"), {options, tensors}));
}

/// const char *NAME_describe(void).
void Binder::defineDescribe(StringRef metadata) {
  auto *type = llvm::FunctionType::get(pointer, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                          signature.name + "_describe", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(text(metadata));
}

void Binder::rename(StringRef from, const std::string &to) {
  if (llvm::GlobalValue *value = module.getNamedValue(from))
    value->setName(to);
}

void attn::nameEntryPoints(llvm::Module &host, StringRef function, unsigned variant) {
  host.getFunction((function + "_host").str())->setName(getEntryName("host", variant));
  host.getFunction((function + "_workspace_host").str())
      ->setName(getEntryName("workspace", variant));
  for (auto [from, to] :
       {std::pair{function.str(), "host"}, {(function + "_workspace").str(), "host_workspace"}}) {
    llvm::Function *entry = host.getFunction(from);
    entry->setName(to);
    entry->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalVariable &global : host.globals())
    if (global.isConstant())
      global.setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
}

void attn::bindSignature(llvm::Module &module, const Signature &signature,
                         ArrayRef<Variant> variants, StringRef metadata, bool isWhole) {
  Binder binder(module, signature);
  binder.defineSignature(variants);
  binder.defineFeatures();
  binder.defineEntry(signature.name, /*withOptions=*/false);
  binder.defineEntry(signature.name + "_ex", /*withOptions=*/true);
  binder.defineDescribe(metadata);
  for (StringRef suffix :
       {"call", "workspace", "last_error", "target", "release", "load", "load_unchecked", "unload"})
    binder.rename(("attnc_" + suffix).str(), (signature.name + "_" + suffix).str());
  llvm::StringSet<> global;
  if (!isWhole) // kernels and Halide's runtime, linked later, call
    global.insert_range(ArrayRef<StringRef>{
        "halide_error", "halide_error_access_out_of_bounds", "halide_print", "halide_malloc",
        "halide_free", "halide_do_par_for", "halide_load_library", "halide_cuda_acquire_context",
        "halide_cuda_get_stream", "halide_acquire_cl_context", "attnc_cuda_launch",
        "attnc_multiply_tiles"});
  for (const std::string &symbol : signature.symbols()) {
    global.insert(symbol);
    module.getNamedValue(symbol)->setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue &value) { return global.contains(value.getName()); });
}
