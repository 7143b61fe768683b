//===- Target.h - parse Halide targets --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_MACHINE_TARGET_H
#define ATTNC_MACHINE_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// A parsed Halide target, ARCH-BITS-OS[-FEATURE…] or host[-FEATURE…]. Words are not validated
/// here: Target/Halide's `resolveTarget` refuses unknown targets.
class Target {
public:
  /// Replaces `host` by the environment variable ATTNC_HOST_TARGET, a Halide target without a GPU,
  /// such as x86-64-linux-avx2-fma. Without the variable, `host` stays and means this machine.
  explicit Target(llvm::StringRef text);

  const std::string &str() const { return text; }
  bool isHost() const { return words.front() == "host"; }
  /// Whether it has the words of one of the two forms.
  bool isComplete() const;
  /// ARCH-BITS, as in x86-64; `host` for the host.
  std::string getArch() const;
  /// ARCH-BITS-OS, as in x86-64-linux; `host` for the host.
  std::string getMachine() const;
  /// Empty for the host or if the target names no OS.
  llvm::StringRef getOS() const { return getWord(isHost() ? words.size() : 2); }
  bool isWasm() const { return words.front() == "wasm"; }

  llvm::ArrayRef<std::string> getFeatures() const;
  bool has(llvm::StringRef feature) const;
  /// Whether the target has any GPU API of Halide.
  bool hasGpu() const;
  /// The same without CUDA and OpenCL features.
  std::string withoutGpu() const;

private:
  llvm::StringRef getWord(size_t index) const;
  std::string join(size_t count) const;

  std::string text;
  std::vector<std::string> words;
};

} // namespace mlir::attn

#endif // ATTNC_MACHINE_TARGET_H
