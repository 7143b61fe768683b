//===- CallTensors.h - tensors that a caller may pass -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TEST_FUZZ_CALLTENSORS_H
#define ATTNC_TEST_FUZZ_CALLTENSORS_H

#include "dlpack.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attnc::fuzz {

/// An input, byte by byte. Behind its end are zeros, which stand for what is regular.
class Bytes {
public:
  Bytes(const uint8_t *data, size_t size) : data(data), size(size) {}
  unsigned next() { return size ? (--size, *data++) : 0; }
  /// Below `count`.
  unsigned pick(unsigned count) { return next() % count; }
  int64_t pickEdge();
  /// A size: mostly small.
  int64_t pickSize();

private:
  const uint8_t *data;
  size_t size;
};

/// An argument of a library, as its metadata say it.
struct Parameter {
  std::string name;
  DLDataType dtype;
  /// The symbol of a dimension, or its extent.
  std::vector<std::string> symbols;
  bool isOutput;
  int inPlace;
};

std::vector<Parameter> readParameters(llvm::StringRef metadata);

/// A DLTensor and its memory, each part of it of exactly its size.
class Argument {
public:
  Argument(const Parameter &parameter, std::map<std::string, int64_t> &sizes, Bytes &bytes);

  const DLTensor *get() const { return tensor.get(); }
  /// Whether nothing about it is wrong by itself.
  bool isRegular() const { return regular; }
  /// Whether there is memory for all elements, or extents that no library takes.
  bool isSafe() const { return safe; }
  bool isOutput() const { return output; }

  llvm::ArrayRef<char> getMemory() const { return llvm::ArrayRef(memory.get(), numBytes); }
  /// Takes the memory of another one of as many bytes.
  bool share(const Argument &other);
  bool sharesMemory() const { return shared; }
  /// Keeps what the memory holds.
  void remember();
  bool isUnchanged() const;
  /// Whether bytes that belong to no element are as they were.
  bool keptGaps() const;

private:
  void spoil(Bytes &bytes);
  void setStrides(Bytes &bytes);
  void allocate(Bytes &bytes);
  void fill(Bytes &bytes);
  size_t elementSize() const { return elementBits / 8; }

  // Heap memory, so that reads beyond any of it are seen.
  std::unique_ptr<DLTensor> tensor;
  std::unique_ptr<int64_t[]> shape, strides;
  std::unique_ptr<char[]> memory;
  size_t numBytes = 0, firstByte = 0, elementBits;
  std::vector<char> remembered;
  bool regular = true, safe = true, output, shared = false;
};

} // namespace attnc::fuzz

#endif // ATTNC_TEST_FUZZ_CALLTENSORS_H
