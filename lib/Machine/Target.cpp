//===- Target.cpp - parse Halide targets ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir;
using namespace mlir::attn;
using llvm::ArrayRef;
using llvm::StringRef;

static std::string resolveHost(StringRef target) {
  const char *host = std::getenv("ATTNC_HOST_TARGET");
  bool isHost = target == "host" || target.starts_with("host-");
  if (!isHost || !host || !*host)
    return target.str();
  return host + target.drop_front(StringRef("host").size()).str();
}

Target::Target(StringRef given) : text(resolveHost(given)) {
  for (StringRef word : llvm::split(StringRef(text), '-'))
    words.push_back(word.str());
}

bool Target::isComplete() const {
  return isHost() || (words.size() >= 3 && (words[1] == "32" || words[1] == "64"));
}

StringRef Target::getWord(size_t index) const {
  return index < words.size() ? StringRef(words[index]) : StringRef();
}

std::string Target::join(size_t count) const {
  return llvm::join(ArrayRef(words).take_front(count), "-");
}

std::string Target::getArch() const { return join(isHost() ? 1 : 2); }
std::string Target::getMachine() const { return join(isHost() ? 1 : 3); }

ArrayRef<std::string> Target::getFeatures() const {
  size_t first = isHost() ? 1 : 3;
  return ArrayRef(words).drop_front(std::min(first, words.size()));
}

bool Target::has(StringRef feature) const { return llvm::is_contained(getFeatures(), feature); }

bool Target::hasGpu() const {
  return llvm::any_of(getFeatures(), [](StringRef feature) {
    return feature == "cuda" || feature == "opencl" || feature == "metal" || feature == "vulkan" ||
           feature == "webgpu" || feature.starts_with("d3d12");
  });
}

std::string Target::withoutGpu() const {
  auto isOfGpu = [](StringRef word) {
    return word == "cuda" || word == "opencl" || word.starts_with("cuda_") ||
           word.starts_with("cl_");
  };
  std::vector<std::string> kept(words);
  llvm::erase_if(kept, isOfGpu);
  return llvm::join(kept, "-");
}
