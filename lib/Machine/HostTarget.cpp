//===- HostTarget.cpp - the target that `host` stands for -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/HostTarget.h"

#include <cstdlib>

using namespace mlir;

std::string attn::resolveHost(llvm::StringRef target) {
  const char *host = std::getenv("ATTNC_HOST_TARGET");
  bool isHost = target == "host" || target.starts_with("host-");
  if (!isHost || !host || !*host)
    return target.str();
  return host + target.drop_front(llvm::StringRef("host").size()).str();
}
