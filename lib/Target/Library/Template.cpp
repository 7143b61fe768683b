//===- Template.cpp - text templates --------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Template.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;

std::string attn::fillTemplate(StringRef text, ArrayRef<std::pair<StringRef, std::string>> words) {
  std::string result = text.str();
  for (const auto &[word, value] : words) {
    std::string mark = ("@" + word + "@").str();
    for (size_t at; (at = result.find(mark)) != std::string::npos;)
      result.replace(at, mark.size(), value);
  }
  return result;
}
