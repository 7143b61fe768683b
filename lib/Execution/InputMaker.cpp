//===- InputMaker.cpp - inputs for given sizes ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/InputMaker.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace attnc;

/// The fewest pages of a sequence that these offsets give, so that appended rows have room: half of
/// an equal share, or what the rows need if that is more; all of it with full lengths. 0 if nothing
/// is appended.
static int64_t countLeastPages(Value offsets, const Sizes &sizes, mlir::attn::SizeTracer &tracer,
                               InputMaker::Lengths lengths) {
  auto get = [&](Value tensor, int64_t dim) {
    return traceSize(tensor, dim, tracer, sizes).value_or(0);
  };
  int64_t needed = 0, share = 0;
  for (Operation *user : offsets.getUsers())
    if (auto append = dyn_cast<mlir::attn::AppendPagesOp>(user);
        append && append.getOffsets() == offsets) {
      int64_t rows = get(append.getRows(), 2), pageSize = get(append.getPool(), append.getKeyDim());
      needed = std::max(needed, countPages(rows, pageSize));
      share = get(append.getTable(), 0) / std::max<int64_t>(get(append.getLength(), 0), 1);
    }
  return lengths == InputMaker::FullLengths ? share : std::min(std::max(needed, share / 2), share);
}

/// The largest valid key length for a reader of lengths: the number of keys of the pages, mask or
/// score that it belongs to, the free rows of a cache or of pages, or the rows that go there.
static std::optional<int64_t> getLongest(OpOperand &use, const Sizes &sizes,
                                         mlir::attn::SizeTracer &tracer,
                                         InputMaker::Lengths lengths) {
  Operation *user = use.getOwner();
  auto get = [&](Value tensor, int64_t dim) { return traceSize(tensor, dim, tracer, sizes); };
  if (auto append = dyn_cast<mlir::attn::AppendCacheOp>(user)) {
    auto rows = get(append.getRows(), 2), all = get(append.getCache(), 2);
    return rows && all ? std::optional(std::max<int64_t>(*all - *rows, 0)) : std::nullopt;
  }
  if (auto append = dyn_cast<mlir::attn::AppendPagesOp>(user)) {
    auto rows = get(append.getRows(), 2), size = get(append.getPool(), append.getKeyDim()),
         pages = append.getOffsets() ? countLeastPages(append.getOffsets(), sizes, tracer, lengths)
                                     : get(append.getTable(), 1);
    if (append.getCounts() == use.get() || !rows || !pages || !size)
      return rows;
    return std::max<int64_t>(*pages * *size - *rows, 0);
  }
  auto evaluate = [&](const mlir::attn::ResultSize &kvLen) {
    int64_t size = kvLen.evaluate([&](mlir::attn::TensorDim dim) {
      return get(dim.tensor.value, dim.dim).value_or(ShapedType::kDynamic);
    });
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  };
  if (auto gather = dyn_cast<mlir::attn::GatherPagesOp>(user))
    return evaluate(gather.getResultSizes(0)[2]);
  Operation *op = user->getParentOp();
  if (isa<mlir::attn::MaskOp, mlir::attn::ModifyScoreOp>(op))
    return get(op->getOperand(0), 3);
  auto attention =
      dyn_cast<mlir::attn::AttentionOp>(isa<mlir::attn::AttentionOp>(user) ? user : op);
  return attention ? evaluate(attention.getKvLen()) : std::nullopt;
}

/// Adds the pools whose pages a tensor numbers, as it is, moved or computed element by element.
static void addPools(Value table, SmallVectorImpl<Value> &pools) {
  for (Operation *user : table.getUsers())
    if (auto paged = mlir::attn::getPagedTensors(user); paged.table == table)
      llvm::append_range(pools, paged.pools);
    else if (mlir::attn::isMove(user) || mlir::attn::isElementwiseOnTensors(user))
      addPools(user->getResult(0), pools);
}

/// The number of pages in each of the pools that the argument numbers, if it is a page table.
static std::optional<int64_t> getNumPages(BlockArgument argument, const Sizes &sizes,
                                          mlir::attn::SizeTracer &tracer) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || !type.getElementType().isInteger() || type.getRank() == 0)
    return std::nullopt;
  SmallVector<Value> pools;
  addPools(argument, pools);
  std::optional<int64_t> fewest;
  for (Value pool : pools)
    if (std::optional<int64_t> pages = traceSize(pool, 0, tracer, sizes))
      fewest = std::min(fewest.value_or(*pages), *pages);
  return fewest;
}

/// The largest valid value of the argument if it is a length. Other integers keep their values,
/// which are below the sizes that they index.
static std::optional<int64_t> getLongest(BlockArgument argument, const Sizes &sizes,
                                         mlir::attn::SizeTracer &tracer,
                                         InputMaker::Lengths lengths) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || type.getRank() != 1 || isa<FloatType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return std::nullopt;
  std::optional<int64_t> longest;
  for (OpOperand &use : argument.getUses())
    if (std::optional<int64_t> most = getLongest(use, sizes, tracer, lengths))
      longest = std::min(longest.value_or(*most), *most);
  return longest;
}

namespace {
/// What an argument holds of quantized keys or values.
enum class Quantized { no, rows, scales };
} // namespace

static Quantized getKind(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto dequantize = dyn_cast<mlir::attn::DequantizeOp>(user))
    return use.get() == dequantize.getInput() ? Quantized::rows : Quantized::scales;
  if (auto attention = dyn_cast<mlir::attn::AttentionOp>(user)) {
    bool areScales =
        use.get() == attention.getKeyScales() || use.get() == attention.getValueScales();
    return areScales ? Quantized::scales : Quantized::rows;
  }
  if (isa<arith::SIToFPOp>(user))
    return Quantized::rows;
  if (auto map = dyn_cast<mlir::attn::MapOp>(user)) {
    Value element = map.getBody().getArgument(use.getOperandNumber());
    return llvm::any_of(element.getUsers(), llvm::IsaPred<arith::SIToFPOp>) ? Quantized::rows
                                                                            : Quantized::no;
  }
  if (!isa<mlir::attn::GatherPagesOp, mlir::attn::AppendPagesOp, mlir::attn::AppendCacheOp,
           mlir::attn::TransposeOp>(user))
    return Quantized::no;
  if (getElementTypeOrSelf(use.get()) != getElementTypeOrSelf(user->getResult(0)))
    return Quantized::no; // page tables, lengths
  for (OpOperand &next : user->getResult(0).getUses())
    if (Quantized kind = getKind(next); kind != Quantized::no)
      return kind;
  return Quantized::no;
}

/// Floats that are stored rows stay as they are.
static Quantized getKind(BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  for (OpOperand &use : argument.getUses())
    if (Quantized kind = getKind(use); type && kind != Quantized::no)
      return type.getElementType().isInteger(8) || kind == Quantized::scales ? kind : Quantized::no;
  return Quantized::no;
}

/// All numbers of 8 bits, and positive scales that make them about as large as normal floats.
static void fillQuantized(Tensor &tensor, Quantized kind, uint64_t seed) {
  std::mt19937_64 bits(seed);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, kind == Quantized::rows ? int64_t(bits() % 255) - 127
                                              : (1 + std::abs(tensor.get(index))) / 256);
}

static void fillLengths(Tensor &tensor, int64_t longest, InputMaker::Lengths lengths,
                        uint64_t seed) {
  std::mt19937_64 bits(seed);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, lengths == InputMaker::FullLengths ? longest : bits() % (longest + 1));
}

/// The pages in random order. If there are too few for all sequences, each has some of its own,
/// which it may be appended to, and repeats them.
static void fillPages(Tensor &tensor, int64_t numPages, uint64_t seed) {
  auto pages = llvm::to_vector(llvm::seq(numPages));
  std::mt19937_64 bits(seed);
  for (int64_t left = numPages; left > 1; --left) // std::shuffle depends on the library
    std::swap(pages[left - 1], pages[bits() % left]);
  int64_t perSequence = std::max<int64_t>(tensor.getShape().back(), 1),
          batch = tensor.size() / perSequence;
  int64_t own = std::clamp<int64_t>(numPages / std::max<int64_t>(batch, 1), 1, perSequence);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, pages[(index / perSequence * own + index % perSequence % own) % numPages]);
}

/// The page_size of the pool whose sequences' last pages hold as many keys as the argument says.
static std::optional<int64_t> getPageSize(BlockArgument argument, const Sizes &sizes,
                                          mlir::attn::SizeTracer &tracer) {
  for (Operation *user : argument.getUsers())
    if (auto count = dyn_cast<mlir::attn::PageLengthsOp>(user);
        count && count.getLast() == argument)
      return traceSize(count.getPool(), count.getKeyDim(), tracer, sizes);
  return std::nullopt;
}

static void fillLastPages(Tensor &tensor, int64_t pageSize, uint64_t seed) {
  std::mt19937_64 bits(seed);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, 1 + bits() % std::max<int64_t>(pageSize, 1));
}

/// Whether the argument is the lse of a part of the keys, which may have none.
static bool isLseOfPart(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto merge = dyn_cast<mlir::attn::MergeOp>(user);
    return merge && (merge.getLseA() == argument || merge.getLseB() == argument);
  });
}

/// A fourth of the rows, at random, sees no key.
static void emptyRows(Tensor &lse, uint64_t seed) {
  std::mt19937_64 bits(seed);
  for (int64_t row = 0; row < lse.size(); ++row)
    if (bits() % 4 == 0)
      lse.set(row, -INFINITY);
}

/// The number of rows that the argument's offsets divide among sequences, if it is offsets.
static std::optional<int64_t> getPackedTotal(BlockArgument argument, const Sizes &sizes,
                                             mlir::attn::SizeTracer &tracer) {
  for (Operation *user : argument.getUsers())
    for (const mlir::attn::PackedRows &packed : mlir::attn::getPackedRows(user))
      if (packed.offsets == argument)
        return traceSize(packed.rows, packed.dim, tracer, sizes);
  return std::nullopt;
}

/// Offsets of sequences of random lengths, or, with full lengths, of about equal ones; no length is
/// below `least`.
static void fillOffsets(Tensor &tensor, int64_t total, int64_t least, InputMaker::Lengths lengths,
                        uint64_t seed) {
  std::mt19937_64 bits(seed);
  int64_t batch = tensor.size() - 1, rest = total - batch * least;
  SmallVector<int64_t> offsets;
  for (int64_t index = 0; index < batch; ++index)
    offsets.push_back(index == 0                           ? 0
                      : lengths == InputMaker::FullLengths ? rest * index / batch
                                                           : bits() % (rest + 1));
  llvm::sort(offsets);
  offsets.push_back(rest);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, offsets[index] + index * least);
}

/// An input mask of zeros alone hides all keys, and with them errors.
static void avoidZeros(Tensor &tensor, int64_t bound) {
  auto indices = llvm::seq(tensor.size());
  if (isa<FloatType>(tensor.getElementType()) || bound < 2 || tensor.size() == 0 ||
      !llvm::all_of(indices, [&](int64_t index) { return tensor.get(index) == 0; }))
    return;
  tensor.set(tensor.size() - 1, 1);
}

InputMaker::InputMaker(func::FuncOp graph, Signature signature, std::vector<InputSource> given,
                       uint64_t seed, Lengths lengths)
    : graph(graph), signature(std::move(signature)), given(std::move(given)), seed(seed),
      lengths(lengths) {
  if (graph)
    tracer.emplace(graph);
  isGiven = llvm::map_to_vector(this->signature.inputs, [&](const Parameter &input) {
    return llvm::any_of(this->given, [&](const InputSource &o) { return o.name == input.name; });
  });
}

FailureOr<std::vector<Tensor>> InputMaker::make(Sizes &sizes, const llvm::BitVector *read) {
  auto isRead = [&](unsigned index) { return !read || read->test(index); };
  std::vector<InputSource> options = given;
  for (auto [index, input] : llvm::enumerate(signature.inputs))
    if (!isGiven[index])
      options.push_back(
          {input.name, isRead(index) ? InputSource::Random : InputSource::Unread, "", {}});
  FailureOr<std::vector<Tensor>> inputs = makeInputs(signature, options, seed, sizes);
  if (failed(inputs))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*inputs))
    if (!isGiven[index] && isRead(index))
      fill(tensor, index, sizes);
  return inputs;
}

void InputMaker::fill(Tensor &tensor, unsigned index, const Sizes &sizes) {
  uint64_t seed = this->seed + index;
  if (!graph)
    return avoidZeros(tensor, getIntegerBound(signature, sizes));
  BlockArgument argument = graph.getArgument(index);
  if (Quantized kind = getKind(argument); kind != Quantized::no)
    return fillQuantized(tensor, kind, seed);
  if (auto total = getPackedTotal(argument, sizes, *tracer); total && tensor.size() > 0)
    return fillOffsets(tensor, *total, countLeastPages(argument, sizes, *tracer, lengths), lengths,
                       seed);
  if (int64_t numPages = getNumPages(argument, sizes, *tracer).value_or(0); numPages > 0)
    return fillPages(tensor, numPages, seed);
  if (std::optional<int64_t> pageSize = getPageSize(argument, sizes, *tracer))
    return fillLastPages(tensor, *pageSize, seed);
  if (isLseOfPart(argument))
    emptyRows(tensor, seed);
  std::optional<int64_t> longest = getLongest(argument, sizes, *tracer, lengths);
  if (longest)
    fillLengths(tensor, *longest, lengths, seed);
  avoidZeros(tensor, longest ? *longest + 1 : getIntegerBound(signature, sizes));
}
