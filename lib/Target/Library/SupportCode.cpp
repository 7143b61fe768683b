//===- SupportCode.cpp - the C part of libraries, as bitcode --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SupportCode.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::attn;

/// attnc_*.c as bitcode.
static constexpr unsigned char supportBitcode[] = {
#include "attnc_support.bc.inc"
};
static constexpr unsigned char runtimeBitcode[] = {
#include "attnc_runtime.bc.inc"
};
static constexpr unsigned char weightsBitcode[] = {
#include "attnc_weights.bc.inc"
};
static constexpr unsigned char noWeightsBitcode[] = {
#include "attnc_no_weights.bc.inc"
};
static constexpr unsigned char exchangeBitcode[] = {
#include "attnc_exchange.bc.inc"
};
static constexpr unsigned char cpuBitcode[] = {
#include "attnc_cpu_x86.bc.inc"
};
static constexpr unsigned char tilesX86Bitcode[] = {
#include "attnc_tiles_x86.bc.inc"
};
static constexpr unsigned char tilesArmBitcode[] = {
#include "attnc_tiles_arm.bc.inc"
};
static constexpr unsigned char deviceBitcode[] = {
#include "attnc_device.bc.inc"
};
static constexpr unsigned char cudaBitcode[] = {
#include "attnc_cuda.bc.inc"
};
static constexpr unsigned char cudaLaunchBitcode[] = {
#include "attnc_cuda_launch.bc.inc"
};
static constexpr unsigned char cudaMapsBitcode[] = {
#include "attnc_cuda_maps.bc.inc"
};
static constexpr unsigned char openClBitcode[] = {
#include "attnc_opencl.bc.inc"
};
static constexpr unsigned char noDeviceBitcode[] = {
#include "attnc_no_device.bc.inc"
};

/// The same with pointers of 32 bits.
static constexpr unsigned char supportWasmBitcode[] = {
#include "attnc_support_wasm.bc.inc"
};
static constexpr unsigned char runtimeWasmBitcode[] = {
#include "attnc_runtime_wasm.bc.inc"
};
static constexpr unsigned char exchangeWasmBitcode[] = {
#include "attnc_exchange_wasm.bc.inc"
};
static constexpr unsigned char noDeviceWasmBitcode[] = {
#include "attnc_no_device_wasm.bc.inc"
};
static constexpr unsigned char noWeightsWasmBitcode[] = {
#include "attnc_no_weights_wasm.bc.inc"
};

SmallVector<ArrayRef<unsigned char>> attn::getSupport(const llvm::Triple &triple,
                                                      const std::optional<GpuInfo> &gpu,
                                                      const Signature &signature,
                                                      bool withRuntime) {
  if (triple.isWasm()) {
    SmallVector<ArrayRef<unsigned char>> parts{supportWasmBitcode, noDeviceWasmBitcode,
                                               noWeightsWasmBitcode, runtimeWasmBitcode};
    if (signature.isSpread)
      parts.push_back(exchangeWasmBitcode);
    return parts;
  }
  SmallVector<ArrayRef<unsigned char>> parts{
      supportBitcode, signature.weights ? ArrayRef(weightsBitcode) : ArrayRef(noWeightsBitcode)};
  if (signature.isSpread)
    parts.push_back(exchangeBitcode);
  if (!gpu)
    parts.push_back(noDeviceBitcode);
  else if (gpu->api == GpuApi::cuda)
    parts.append({deviceBitcode, cudaBitcode, cudaLaunchBitcode, cudaMapsBitcode});
  else
    parts.append({deviceBitcode, openClBitcode});
  if (withRuntime)
    parts.push_back(runtimeBitcode);
  if (triple.isX86())
    parts.push_back(cpuBitcode);
  if (signature.usesTiles)
    parts.push_back(triple.isX86() ? ArrayRef(tilesX86Bitcode) : ArrayRef(tilesArmBitcode));
  return parts;
}

ArrayRef<unsigned char> attn::getRuntimeSupport() { return runtimeBitcode; }

std::unique_ptr<llvm::Module> attn::loadSupport(ArrayRef<unsigned char> bitcode,
                                                llvm::LLVMContext &context) {
  StringRef bytes(reinterpret_cast<const char *>(bitcode.data()), bitcode.size());
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "support"), context);
  if (!module)
    llvm::report_fatal_error(module.takeError());
  // Compiled for one target but valid for all of its word size: nothing in it depends on more, but
  // for functions that test the CPU before they call.
  auto isForTiles = [](llvm::Function &function) {
    return function.getFnAttribute("target-features").getValueAsString().contains("bf16");
  };
  for (llvm::Function &function : llvm::make_filter_range(
           **module, [&](llvm::Function &function) { return !isForTiles(function); }))
    for (StringRef attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
  return std::move(*module);
}
