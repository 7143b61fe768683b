//===- CallTensors.cpp - tensors that a caller may pass -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallTensors.h"

#include "Fuzz.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace attnc::fuzz;
using llvm::StringRef;

/// More than this is never allocated for one tensor.
static constexpr __int128 kMostBytes = 1 << 20;

int64_t Bytes::pickEdge() {
  static constexpr int64_t edges[] = {-1,
                                      0,
                                      1,
                                      2,
                                      3,
                                      5,
                                      7,
                                      9,
                                      10,
                                      19,
                                      20,
                                      100,
                                      1 << 20,
                                      INT32_MAX,
                                      int64_t(INT32_MAX) + 1,
                                      int64_t(1) << 32,
                                      INT32_MIN,
                                      int64_t(1) << 61,
                                      INT64_MAX,
                                      INT64_MIN};
  return edges[pick(std::size(edges))];
}

int64_t Bytes::pickSize() {
  static constexpr int64_t larger[] = {15, 16, 17, 31, 32, 33, 48, 64, 65, 97, 129};
  unsigned kind = next();
  if (kind < 192)
    return (kind + 2) % 8;
  return kind < 248 ? larger[kind % std::size(larger)] : pickEdge();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static DLDataType readDtype(StringRef text) {
  DLDataType dtype{kDLFloat, 0, 1};
  if (text == "bool")
    return {kDLBool, 8, 1};
  dtype.code = text.consume_front("bf")  ? kDLBfloat
               : text.consume_front("i") ? kDLInt
               : text.consume_front("u") ? kDLUInt
                                         : kDLFloat;
  text.consume_front("f");
  text.getAsInteger(10, dtype.bits);
  return dtype;
}

std::vector<Parameter> attnc::fuzz::readParameters(StringRef metadata) {
  llvm::json::Value json = llvm::cantFail(llvm::json::parse(metadata));
  std::vector<Parameter> parameters;
  for (StringRef kind : {"inputs", "outputs"})
    for (const llvm::json::Value &value : *json.getAsObject()->getArray(kind)) {
      const llvm::json::Object &tensor = *value.getAsObject();
      Parameter &parameter = parameters.emplace_back();
      parameter.name = tensor.getString("name")->str();
      parameter.dtype = readDtype(*tensor.getString("dtype"));
      parameter.isOutput = kind == "outputs";
      parameter.inPlace = tensor.getInteger("in_place").value_or(-1);
      for (const llvm::json::Value &dim : *tensor.getArray("dims"))
        parameter.symbols.push_back(dim.getAsString() ? dim.getAsString()->str()
                                                      : std::to_string(*dim.getAsInteger()));
    }
  return parameters;
}

//===----------------------------------------------------------------------===//
// Shapes and strides
//===----------------------------------------------------------------------===//

static int64_t getSize(const std::string &symbol, std::map<std::string, int64_t> &sizes,
                       Bytes &bytes) {
  int64_t size;
  if (!StringRef(symbol).getAsInteger(10, size))
    return size;
  auto it = sizes.find(symbol);
  return it != sizes.end() ? it->second : sizes[symbol] = bytes.pickSize();
}

Argument::Argument(const Parameter &parameter, std::map<std::string, int64_t> &sizes, Bytes &bytes)
    : tensor(new DLTensor{}), elementBits(parameter.dtype.bits), output(parameter.isOutput) {
  size_t rank = parameter.symbols.size();
  shape.reset(new int64_t[rank]);
  for (size_t i = 0; i < rank; ++i)
    shape[i] = getSize(parameter.symbols[i], sizes, bytes);
  tensor->dtype = parameter.dtype;
  tensor->device = {kDLCPU, 0};
  tensor->ndim = rank;
  tensor->shape = shape.get();
  unsigned kind = bytes.next();
  if (rank > 0 && kind % 16 == 15)
    shape[bytes.pick(rank)] = bytes.pickSize(), regular = false;
  if (kind >= 128)
    setStrides(bytes);
  allocate(bytes);
  if (kind % 16 == 14)
    spoil(bytes);
}

/// Compact ones with room between, in another order, backwards, or from an edge.
void Argument::setStrides(Bytes &bytes) {
  int rank = tensor->ndim;
  strides.reset(new int64_t[rank]);
  uint64_t compact = 1;
  unsigned kind = bytes.pick(8);
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = compact;
    compact *= uint64_t(std::max<int64_t>(shape[i], 1)) + (kind == 1 ? bytes.pick(4) : 0);
  }
  if (kind == 2 && rank > 2)
    std::swap(strides[0], strides[1]);
  if (kind == 3 && rank > 1)
    strides[0] = static_cast<int64_t>(0 - static_cast<uint64_t>(strides[0]));
  if (kind == 4 && rank > 1)
    strides[bytes.pick(rank - 1)] = 0;
  if (kind == 5 && rank > 0)
    strides[bytes.pick(rank)] = bytes.pickEdge();
  regular &= kind < 2 || (kind == 3 && rank > 1);
  tensor->strides = strides.get();
}

/// The lowest and highest element, counted from the first; none for an empty tensor.
static bool findReach(const DLTensor &tensor, __int128 &low, __int128 &high) {
  __int128 compact = 1;
  low = high = 0;
  bool isEmpty = false;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    isEmpty |= tensor.shape[i] == 0;
    __int128 stride = tensor.strides ? tensor.strides[i] : compact;
    constexpr __int128 far = __int128(1) << 100;
    __int128 reach = std::clamp((__int128(tensor.shape[i]) - 1) * stride, -far, far);
    (reach < 0 ? low : high) += reach;
    constexpr __int128 most = __int128(1) << 62;
    compact = std::clamp(compact * tensor.shape[i], -most, most);
  }
  return !isEmpty;
}

void Argument::allocate(Bytes &bytes) {
  __int128 low, high;
  bool refused = std::any_of(shape.get(), shape.get() + tensor->ndim,
                             [](int64_t extent) { return extent < 0 || extent > INT32_MAX; });
  bool hasElements = findReach(*tensor, low, high) && !refused;
  __int128 wanted = hasElements ? (high - low + 1) * elementSize() : 0;
  safe = wanted <= kMostBytes;
  regular &= safe && !refused;
  if (!safe || !hasElements)
    wanted = low = 0;
  unsigned offset = bytes.pick(4) == 3 ? bytes.pick(32) : 0;
  regular &= offset % elementSize() == 0;
  numBytes = size_t(wanted) + offset;
  memory.reset(new char[numBytes]);
  fill(bytes);
  firstByte = offset - size_t(low * __int128(elementSize()));
  tensor->byte_offset = offset;
  tensor->data = memory.get() + (firstByte - offset);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Floats at random, with infinities and NaN where asked for; integers small, or from an edge.
void Argument::fill(Bytes &bytes) {
  unsigned kind = bytes.next();
  uint32_t state = kind;
  auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  bool isFloat = tensor->dtype.code == kDLFloat || tensor->dtype.code == kDLBfloat;
  for (size_t at = 0; at + elementSize() <= numBytes; at += elementSize()) {
    // As bits, the upper half of f32's is bf16's, and nearly f16's.
    int64_t value = kind < 192 ? random() % 8 : bytes.pickEdge();
    if (tensor->dtype.code == kDLBool)
      value = random() % 2;
    float number = kind >= 240 && random() % 4 == 0   ? std::numeric_limits<float>::infinity()
                   : kind >= 224 && random() % 4 == 0 ? std::nanf("")
                                                      : random() % 64 / 32.0f - 1;
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    if (isFloat)
      value = elementSize() == 2 ? bits >> 16 : bits;
    std::memcpy(memory.get() + at, &value, std::min(elementSize(), sizeof(value)));
  }
}

/// One thing becomes wrong.
void Argument::spoil(Bytes &bytes) {
  regular = false;
  switch (bytes.pick(8)) {
  case 0:
    tensor.reset();
    return;
  case 1:
    tensor->shape = nullptr;
    return;
  case 2:
    tensor->data = nullptr;
    return;
  case 3:
    tensor->ndim = bytes.pickEdge();
    return;
  case 4:
    tensor->dtype = {static_cast<uint8_t>(bytes.next()), static_cast<uint8_t>(bytes.next()), 1};
    return;
  case 5:
    tensor->dtype.lanes = bytes.next();
    return;
  case 6:
    tensor->device = {static_cast<DLDeviceType>(bytes.next()),
                      static_cast<int32_t>(bytes.pickEdge())};
    return;
  default:
    // Beyond what is addressed, so that it can't be taken for memory.
    tensor->byte_offset = uint64_t(-1) - bytes.next();
  }
}

bool Argument::share(const Argument &other) {
  if (!tensor || !other.tensor || numBytes != other.numBytes || numBytes == 0 || !tensor->data)
    return false;
  tensor->data = other.memory.get() + (firstByte - tensor->byte_offset);
  shared = true;
  return true;
}

void Argument::remember() { remembered.assign(memory.get(), memory.get() + numBytes); }

bool Argument::isUnchanged() const {
  return std::equal(remembered.begin(), remembered.end(), memory.get());
}

bool Argument::keptGaps() const {
  std::vector<bool> belongs(numBytes);
  __int128 low, high;
  if (!findReach(*tensor, low, high))
    return isUnchanged();
  std::vector<int64_t> index(tensor->ndim);
  for (bool more = true; more;) {
    int64_t at = 0, compact = 1;
    for (int i = tensor->ndim - 1; i >= 0; --i) {
      at += index[i] * (strides ? strides[i] : compact);
      compact *= shape[i];
    }
    for (size_t byte = 0; byte < elementSize(); ++byte)
      belongs[firstByte + at * int64_t(elementSize()) + byte] = true;
    int dim = tensor->ndim - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    more = dim >= 0;
  }
  for (size_t i = 0; i < numBytes; ++i)
    if (!belongs[i] && memory[i] != remembered[i])
      return false;
  return true;
}
