//===- SafetensorsFuzzer.cpp - weights from strangers ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `{HEADER}\nDATA` gets its 8 bytes of length; other inputs are files as they are.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/Endian.h"

using namespace attnc::fuzz;
using mlir::attn::Safetensors;

static std::string makeFile(llvm::StringRef input) {
  auto split = splitHeader(input);
  if (!split)
    return input.str();
  std::string file(8, '\0');
  llvm::support::endian::write64le(file.data(), split->first.size());
  return file + split->first.str() + split->second.str();
}

/// Every byte of a tensor is there.
static void read(const Safetensors &weights, llvm::StringRef name) {
  const Safetensors::Entry *entry = weights.find(name);
  if (!entry)
    return;
  volatile char sum = 0;
  for (char byte : entry->data)
    sum = sum + byte;
  if (entry->type)
    require(weights.getAttr(name, *entry).getShapedType() == entry->type, "another type");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static InputFile file("weights.safetensors");
  file.write(makeFile(llvm::StringRef(reinterpret_cast<const char *>(data), size)));
  Session session;
  mlir::Location loc = mlir::UnknownLoc::get(session.getContext());
  auto weights = Safetensors::open(file.getPath(), loc);
  require(mlir::succeeded(weights) || session.hasErrors(), "failed without a diagnostic");
  if (mlir::succeeded(weights))
    for (llvm::StringRef name : {"w", "a", "b", ""})
      read(*weights, name);
  return 0;
}
