//===- PlanWorkspace.cpp - place temporaries in one workspace
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host function is one block, so a temporary lives from its first to its last use, counted in
// that block. Sizes may be unknown until the call; they are compared by the SSA values that they
// are products of. Temporaries whose sizes follow from more than the arguments' shapes are
// allocated in the call.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Host/Host.h"
#include "attnc/Dialect/Host/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::host {
#define GEN_PASS_DEF_HOSTPLANWORKSPACE
#include "attnc/Dialect/Host/Passes.h.inc"
} // namespace mlir::host

using namespace mlir;

namespace {

/// `bytes` times the product of `factors`.
struct Size {
  int64_t bytes;
  SmallVector<Value> factors;
};

/// A temporary, and the positions of its first and last use in the block.
struct Temporary {
  memref::AllocOp alloc;
  Size size;
  unsigned first, last;
};

/// A range of the workspace, and the temporaries that share it.
struct Slot {
  Size size;
  SmallVector<Temporary *> occupants;
};

/// The plan for one host function.
class Planner {
public:
  Planner(func::FuncOp host, int64_t alignment)
      : host(host), block(host.getBody().front()), alignment(alignment) {}

  LogicalResult run();

private:
  void allocateUnplanned();
  LogicalResult collect();
  LogicalResult findUses(Value alias, Temporary &temporary);
  void assignSlots();
  void placeViews();
  Value emitBytes(OpBuilder &builder, Location loc, const Size &size);
  LogicalResult emitSizeFunction();

  func::FuncOp host;
  Block &block;
  int64_t alignment;
  Value workspace;
  DenseMap<Operation *, unsigned> positions;
  SmallVector<std::unique_ptr<Temporary>> temporaries;
  SmallVector<Slot> slots;
  /// The bytes of all slots, in the host function.
  Value total;
  /// Sums and products that saturate in the size function. In the host function they can't wrap,
  /// since the workspace has been allocated.
  DenseSet<Operation *> sums;
};

} // namespace

/// Sorts values of a host function by where they are defined: arguments first.
static void sortByPlace(SmallVectorImpl<Value> &values) {
  auto isBefore = [](Value a, Value b) {
    Operation *opOfA = a.getDefiningOp(), *opOfB = b.getDefiningOp();
    if (opOfA && opOfB && opOfA != opOfB)
      return opOfA->isBeforeInBlock(opOfB);
    if (!opOfA != !opOfB)
      return !opOfA;
    auto number = [](Value value) {
      auto result = dyn_cast<OpResult>(value);
      return result ? result.getResultNumber() : cast<BlockArgument>(value).getArgNumber();
    };
    return number(a) < number(b);
  };
  llvm::sort(values, isBefore);
}

static Size sizeOf(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  Size size{llvm::divideCeilSigned(bits, 8), llvm::to_vector(alloc.getDynamicSizes())};
  // More than any memory, and can be rounded up without overflow.
  constexpr int64_t kMaxBytes = int64_t(1) << 62;
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent) &&
        (llvm::MulOverflow(size.bytes, extent, size.bytes) || size.bytes > kMaxBytes))
      size.bytes = kMaxBytes;
  sortByPlace(size.factors);
  return size;
}

/// Follows `alias` through the views made of it.
LogicalResult Planner::findUses(Value alias, Temporary &temporary) {
  for (Operation *user : alias.getUsers()) {
    if (isa<memref::DimOp>(user))
      continue;
    unsigned position = positions.lookup(block.findAncestorOpInBlock(*user));
    temporary.first = std::min(temporary.first, position);
    temporary.last = std::max(temporary.last, position);
    if (isa<func::ReturnOp>(user))
      return user->emitOpError("expected no temporary to be returned");
    for (Value result : user->getResults())
      if (isa<BaseMemRefType>(result.getType()) && failed(findUses(result, temporary)))
        return failure();
  }
  return success();
}

/// Whether the sizes of a temporary follow from the arguments' shapes alone.
static bool isPlanned(memref::AllocOp alloc) {
  BackwardSliceOptions options;
  options.inclusive = true;
  SetVector<Operation *> slice;
  for (Value size : alloc.getDynamicSizes())
    if (size.getDefiningOp() && failed(getBackwardSlice(size, &slice, options)))
      return false;
  return llvm::all_of(slice, [](Operation *op) { return isMemoryEffectFree(op); });
}

void Planner::allocateUnplanned() {
  for (auto alloc : llvm::make_early_inc_range(block.getOps<memref::AllocOp>()))
    if (alloc.getType().getLayout().isIdentity() && !isPlanned(alloc)) {
      OpBuilder builder(alloc);
      auto allocate = host::AllocateOp::create(builder, alloc.getLoc(), alloc.getType(),
                                               alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(allocate.getResult());
      alloc.erase();
    }
}

LogicalResult Planner::collect() {
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  for (auto alloc : block.getOps<memref::AllocOp>()) {
    if (!alloc.getType().getLayout().isIdentity())
      return alloc.emitOpError("expected a temporary without layout, found ") << alloc.getType();
    if (Type element = alloc.getType().getElementType(); !element.isIntOrIndexOrFloat())
      return alloc.emitOpError("expected a temporary of integers or floats, found ") << element;
    unsigned position = positions.lookup(alloc);
    temporaries.push_back(
        std::make_unique<Temporary>(Temporary{alloc, sizeOf(alloc), position, position}));
    if (failed(findUses(alloc, *temporaries.back())))
      return failure();
  }
  return success();
}

static bool isFree(const Slot &slot, const Temporary &temporary) {
  return llvm::all_of(slot.occupants, [&](const Temporary *other) {
    return other->last < temporary.first || temporary.last < other->first;
  });
}

/// First fit, in the order of the allocs. A slot takes a temporary if their sizes differ only in
/// the constant factor: only then the larger one is known.
void Planner::assignSlots() {
  for (auto &temporary : temporaries) {
    auto *slot = llvm::find_if(slots, [&](const Slot &slot) {
      return slot.size.factors == temporary->size.factors && isFree(slot, *temporary);
    });
    if (slot == slots.end())
      slot = &slots.emplace_back(Slot{temporary->size, {}});
    slot->size.bytes = std::max(slot->size.bytes, temporary->size.bytes);
    slot->occupants.push_back(temporary.get());
  }
}

/// The bytes of `size`, rounded up to the alignment.
Value Planner::emitBytes(OpBuilder &builder, Location loc, const Size &size) {
  if (size.factors.empty())
    return arith::ConstantIndexOp::create(builder, loc, llvm::alignTo(size.bytes, alignment));
  Value bytes = arith::ConstantIndexOp::create(builder, loc, size.bytes);
  auto add = [&](Value sum) {
    sums.insert(sum.getDefiningOp());
    return sum;
  };
  for (Value factor : size.factors)
    bytes = add(arith::MulIOp::create(builder, loc, bytes, factor));
  if (size.bytes % alignment == 0)
    return bytes;
  Value slack = arith::ConstantIndexOp::create(builder, loc, alignment - 1);
  Value mask = arith::ConstantIndexOp::create(builder, loc, -alignment);
  Value raised = add(arith::AddIOp::create(builder, loc, bytes, slack));
  return arith::AndIOp::create(builder, loc, raised, mask);
}

/// Slots are placed in the order of their first allocs, at which their sizes are known.
void Planner::placeViews() {
  OpBuilder builder(&block, block.begin());
  total = arith::ConstantIndexOp::create(builder, host.getLoc(), 0);
  for (Slot &slot : slots) {
    Value offset = total;
    for (auto [index, temporary] : llvm::enumerate(slot.occupants)) {
      memref::AllocOp alloc = temporary->alloc;
      builder.setInsertionPoint(alloc);
      auto view = memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), workspace,
                                         offset, alloc.getDynamicSizes());
      if (index == 0) {
        total = arith::AddIOp::create(builder, alloc.getLoc(), total,
                                      emitBytes(builder, alloc.getLoc(), slot.size));
        sums.insert(total.getDefiningOp());
      }
      alloc.replaceAllUsesWith(view.getResult());
      alloc.erase();
    }
  }
}

/// The sum or product of `a` and `b`, as `op` computes it, saturated at the largest signed number.
static Value emitSaturated(OpBuilder &builder, Operation *op, Value a, Value b) {
  Location loc = op->getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value most = arith::ConstantIndexOp::create(builder, loc, std::numeric_limits<int64_t>::max());
  auto choose = [&](arith::CmpIPredicate predicate, Value x, Value result) {
    Value isMore = arith::CmpIOp::create(builder, loc, predicate, x, zero);
    return arith::SelectOp::create(builder, loc, isMore, most, result).getResult();
  };
  if (isa<arith::AddIOp>(op)) { // both are below 2^63
    Value sum = arith::AddIOp::create(builder, loc, a, b);
    return choose(arith::CmpIPredicate::slt, sum, sum);
  }
  auto product = arith::MulUIExtendedOp::create(builder, loc, a, b);
  Value low = choose(arith::CmpIPredicate::slt, product.getLow(), product.getLow());
  return choose(arith::CmpIPredicate::ne, product.getHigh(), low);
}

/// Copies the computation of `total`.
LogicalResult Planner::emitSizeFunction() {
  OpBuilder builder(host->getContext());
  builder.setInsertionPointAfter(host);
  auto inputs = host.getArgumentTypes().drop_back();
  auto size = func::FuncOp::create(builder, host.getLoc(), (host.getSymName() + "_workspace").str(),
                                   builder.getFunctionType(inputs, builder.getIndexType()));
  size.setPrivate();
  Block *body = size.addEntryBlock();
  IRMapping mapping;
  mapping.map(block.getArguments().drop_back(), body->getArguments());

  BackwardSliceOptions options;
  options.inclusive = true;
  SetVector<Operation *> slice;
  if (failed(getBackwardSlice(total, &slice, options)))
    return host.emitOpError("expected sizes computed in one block");
  builder.setInsertionPointToStart(body);
  for (Operation *op : slice) {
    if (sums.contains(op))
      mapping.map(op->getResult(0), emitSaturated(builder, op, mapping.lookup(op->getOperand(0)),
                                                  mapping.lookup(op->getOperand(1))));
    else
      builder.clone(*op, mapping);
  }
  func::ReturnOp::create(builder, host.getLoc(), mapping.lookup(total));
  return success();
}

LogicalResult Planner::run() {
  if (!host.getBody().hasOneBlock())
    return host.emitOpError("expected a host function of one block");
  for (auto dealloc : llvm::make_early_inc_range(block.getOps<memref::DeallocOp>()))
    dealloc.erase();
  allocateUnplanned();
  if (failed(collect()))
    return failure();
  assignSlots();

  auto bytes = MemRefType::get(ShapedType::kDynamic, IntegerType::get(host->getContext(), 8));
  unsigned position = host.getNumArguments();
  if (failed(host.insertArgument(position, bytes, {}, host.getLoc())))
    return failure();
  workspace = host.getArgument(position);
  placeViews();
  return emitSizeFunction();
}

/// The extent of a temporary is the value it was allocated with: computations with that extent must
/// not keep the alloc alive.
static void foldDimsOfTemporaries(func::FuncOp host) {
  host.walk([](memref::DimOp dim) {
    auto alloc = dim.getSource().getDefiningOp<memref::AllocOp>();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!alloc || !index)
      return;
    Value extent;
    if (alloc.getType().isDynamicDim(*index)) {
      extent = alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(*index)];
    } else {
      OpBuilder builder(dim);
      extent =
          arith::ConstantIndexOp::create(builder, dim.getLoc(), alloc.getType().getDimSize(*index));
    }
    dim.replaceAllUsesWith(extent);
    dim.erase();
  });
}

namespace {
struct HostPlanWorkspacePass : mlir::host::impl::HostPlanWorkspaceBase<HostPlanWorkspacePass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto host : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!host::isHostFunction(host))
        continue;
      foldDimsOfTemporaries(host);
      // Equal sizes become one value, so that slots can be shared.
      DominanceInfo dominance(host);
      eliminateCommonSubExpressions(rewriter, dominance, host);
      if (failed(Planner(host, alignment).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
