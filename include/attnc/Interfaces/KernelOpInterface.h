//===- KernelOpInterface.h - ops that compile to a kernel -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_INTERFACES_KERNELOPINTERFACE_H
#define ATTNC_INTERFACES_KERNELOPINTERFACE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

#include <map>
#include <string>

namespace mlir::attn {

/// What a kernel does with a buffer's elements; `none`: it asks for sizes alone.
enum class Access { none, read, write, read_write };

/// A buffer that a kernel takes.
struct KernelParameter {
  /// What the kernel's messages call it.
  std::string name;
  /// Element type and sizes; a call's buffer may have another layout.
  MemRefType type;
  Access access;

  bool isRead() const { return access == Access::read || access == Access::read_write; }
  bool isWritten() const { return access == Access::write || access == Access::read_write; }
};

/// The type in which kernels take a buffer's elements: integers are signless.
Type getKernelType(Type element);

/// Most bytes of stack for a kernel's temporaries; the rest are on the heap.
constexpr int64_t kMaxStackBytes = 32 * 1024;

/// Formats that kernels compile to, by Halide's names. Each kind of kernel supports some.
enum class Artefact { object, bitcode, assembly, llvm_assembly, stmt, stmt_html, device_code };
using ArtefactPaths = std::map<Artefact, std::string>;

} // namespace mlir::attn

#include "attnc/Interfaces/KernelOpInterface.h.inc"

#endif // ATTNC_INTERFACES_KERNELOPINTERFACE_H
