//===- attn-lsp-server.cpp - the language server for editors --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Pipelines/Pipelines.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/thread.h"

/// MLIR's parser calls itself for nested brackets, of which a text may have tens of thousands.
static constexpr unsigned kStackBytes = 1u << 30;

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  bool hasFailed = false;
  llvm::thread server(std::optional(kStackBytes), [&] {
    hasFailed = mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
  });
  server.join();
  return hasFailed;
}
