//===- CudaDialect.cpp - the cuda dialect ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Cuda/Cuda.h"

#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

using namespace mlir;
using namespace mlir::cuda;
using attn::GpuInfo;

#include "attnc/Dialect/Cuda/CudaDialect.cpp.inc"

void CudaDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Cuda/CudaOps.cpp.inc"
      >();
}

SmallVector<Type> cuda::getArgumentTypes(MemRefType buffer) {
  SmallVector<Type> types = {LLVM::LLVMPointerType::get(buffer.getContext(), /*global=*/1)};
  types.append(2 * buffer.getRank(), IntegerType::get(buffer.getContext(), 32));
  return types;
}

SmallVector<attn::KernelParameter> KernelOp::getParameters() {
  SmallVector<attn::KernelParameter> parameters;
  for (auto [index, name] : llvm::enumerate(getNames().getAsValueRange<StringAttr>())) {
    auto access = index < getNumInputs() ? attn::Access::read : attn::Access::write;
    parameters.push_back({name.str(), getType(index), access});
  }
  return parameters;
}

std::string KernelOp::describeSchedule() {
  return std::to_string(getThreads()) + " threads a block, " + std::to_string(getSharedBytes()) +
         " bytes of shared memory";
}

SmallVector<KernelOp::Blocks> KernelOp::getBlockFactors() {
  return llvm::map_to_vector(getBlocks(), [](Attribute each) {
    auto numbers = llvm::map_to_vector(cast<ArrayAttr>(each).getAsRange<IntegerAttr>(),
                                       [](IntegerAttr number) { return number.getInt(); });
    return Blocks{numbers[0], numbers[1], numbers[2], numbers[3]};
  });
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isOfFour(Attribute attr) {
  auto array = dyn_cast<ArrayAttr>(attr);
  return array && array.size() == 4 && llvm::all_of(array, llvm::IsaPred<IntegerAttr>);
}

/// (C3)
static LogicalResult verifyBlocks(KernelOp op) {
  if (!llvm::all_of(op.getBlocks(), isOfFour))
    return op.emitOpError(
        "expected a buffer, a dimension, a number of dimensions and a divisor for "
        "each of its blocks");
  for (KernelOp::Blocks factor : op.getBlockFactors()) {
    if (factor.buffer < 0 || factor.buffer >= int64_t(op.getTypes().size()))
      return op.emitOpError("expected blocks of one of ")
             << op.getTypes().size() << " buffers, found " << factor.buffer;
    int64_t rank = op.getType(factor.buffer).getRank();
    if (factor.dim < 0 || factor.dim >= rank)
      return op.emitOpError("expected blocks of a dimension of ")
             << op.getType(factor.buffer) << ", found " << factor.dim;
    if (factor.dims <= 0 || factor.dims > rank - factor.dim)
      return op.emitOpError("expected blocks of 1 to ")
             << rank - factor.dim << " dimensions, found " << factor.dims;
    if (factor.divisor <= 0)
      return op.emitOpError("expected blocks of a positive divisor, found ") << factor.divisor;
  }
  return success();
}

LogicalResult KernelOp::verify() {
  if (getNames().size() != getTypes().size()) // (C1)
    return emitOpError("expected a name for each of ")
           << getTypes().size() << " types, found " << getNames().size();
  for (Type type : getTypes().getAsValueRange<TypeAttr>())
    if (!isa<MemRefType>(type))
      return emitOpError("expected types of buffers, found ") << type;
  if (getNumInputs() > getTypes().size())
    return emitOpError("expected at most ")
           << getTypes().size() << " num_inputs, found " << getNumInputs();
  constexpr int64_t kWarp = 32;
  if (int64_t threads = getThreads(); // (C4)
      threads <= 0 || threads > GpuInfo::kMaxThreads || threads % kWarp != 0)
    return emitOpError("expected a multiple of ")
           << kWarp << " up to " << GpuInfo::kMaxThreads << " threads, found " << threads;
  if (int64_t bytes = getSharedBytes(); bytes < 0 || bytes > GpuInfo::kSharedBytes)
    return emitOpError("expected at most ")
           << GpuInfo::kSharedBytes << " shared_bytes, found " << bytes;
  return verifyBlocks(*this);
}

LogicalResult KernelOp::verifyRegions() { // (C2)
  SmallVector<Type> expected;
  for (Type type : getTypes().getAsValueRange<TypeAttr>())
    llvm::append_range(expected, getArgumentTypes(cast<MemRefType>(type)));
  if (llvm::equal(getBody().getArgumentTypes(), expected))
    return success();
  return emitOpError("expected a body with ")
         << expected.size() << " arguments, an address, sizes and strides for each buffer, found "
         << getBody().getNumArguments();
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Cuda/CudaOps.cpp.inc"
