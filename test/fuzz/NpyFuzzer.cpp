//===- NpyFuzzer.cpp - numpy's files --------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `{HEADER}\nDATA` gets magic, version and length; other inputs are files as they are. What is
// read is written and read again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "attnc/Execution/Npy.h"

#include "mlir/IR/Builders.h"

#include <cstring>

using namespace attnc;
using namespace attnc::fuzz;

static std::string makeFile(llvm::StringRef input) {
  auto split = splitHeader(input);
  if (!split)
    return input.str();
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(split->first.size());
  file += static_cast<char>(split->first.size() >> 8);
  return file + split->first.str() + split->second.str();
}

static void readBack(const InputFile &file, const Tensor &tensor) {
  file.write(writeNpy(tensor));
  auto again = readNpy(file.getPath(), "again", tensor.getElementType());
  require(mlir::succeeded(again) && again->getShape() == tensor.getShape() &&
              std::memcmp(again->data(), tensor.data(), tensor.numBytes()) == 0,
          "what was written does not read");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static InputFile file("input.npy");
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::Builder b(&context);
  std::string bytes = makeFile(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  for (mlir::Type type : {mlir::Type(b.getF32Type()), mlir::Type(b.getI1Type()),
                          mlir::Type(b.getF64Type()), mlir::Type(b.getI8Type())}) {
    file.write(bytes);
    auto tensor = readNpy(file.getPath(), "input", type);
    if (mlir::succeeded(tensor))
      readBack(file, *tensor);
  }
  return 0;
}
