//===- CudaDialect.cpp - the cuda dialect ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Cuda/Cuda.h"

#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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

Type cuda::getMapType(MLIRContext *context) { return LLVM::LLVMPointerType::get(context); }

SmallVector<attn::KernelParameter> KernelOp::getParameters() {
  SmallVector<attn::KernelParameter> parameters;
  for (auto [index, name] : llvm::enumerate(getNames().getAsValueRange<StringAttr>())) {
    auto access = index < getNumInputs() ? attn::Access::read : attn::Access::write;
    parameters.push_back({name.str(), getType(index), access});
  }
  return parameters;
}

std::string KernelOp::describeSchedule() {
  std::string text = std::to_string(getThreads()) + " threads a block, " +
                     std::to_string(getSharedBytes()) + " bytes of shared memory";
  if (!getMaps().empty())
    text += ", copies by tensor maps";
  if (std::optional<StringRef> fallback = getFallback())
    text += "; where addresses or strides are no multiples of 16 bytes, " + fallback->str();
  return text;
}

static SmallVector<int64_t> getNumbers(Attribute array) {
  return llvm::map_to_vector(cast<ArrayAttr>(array).getAsRange<IntegerAttr>(),
                             [](IntegerAttr number) { return number.getInt(); });
}

SmallVector<KernelOp::Blocks> KernelOp::getBlockFactors() {
  return llvm::map_to_vector(getBlocks(), [](Attribute each) {
    SmallVector<int64_t> numbers = getNumbers(each);
    Blocks factor{numbers[0], numbers[1], numbers[2], numbers[3]};
    if (numbers.size() > 4) {
      factor.addedBuffer = numbers[4];
      factor.addedDim = numbers[5];
    }
    return factor;
  });
}

SmallVector<KernelOp::Map> KernelOp::getMaps() {
  SmallVector<Map> maps;
  if (!getTensorMapsAttr())
    return maps;
  for (Attribute each : getTensorMapsAttr()) {
    SmallVector<int64_t> numbers = getNumbers(each);
    maps.push_back({numbers.front(), SmallVector<int64_t>(llvm::drop_begin(numbers))});
  }
  return maps;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool isOfNumbers(Attribute attr) {
  auto array = dyn_cast<ArrayAttr>(attr);
  return array && !array.empty() && llvm::all_of(array, llvm::IsaPred<IntegerAttr>);
}

static bool isBlocks(Attribute attr) {
  return isOfNumbers(attr) && llvm::is_contained({4, 6}, cast<ArrayAttr>(attr).size());
}

static LogicalResult verifyDim(KernelOp op, int64_t buffer, int64_t dim) {
  if (buffer < 0 || buffer >= int64_t(op.getTypes().size()))
    return op.emitOpError("expected blocks of one of ")
           << op.getTypes().size() << " buffers, found " << buffer;
  if (dim < 0 || dim >= op.getType(buffer).getRank())
    return op.emitOpError("expected blocks of a dimension of ")
           << op.getType(buffer) << ", found " << dim;
  return success();
}

/// (C3)
static LogicalResult verifyBlocks(KernelOp op) {
  if (!llvm::all_of(op.getBlocks(), isBlocks))
    return op.emitOpError(
        "expected a buffer, a dimension, a number of dimensions and a divisor for "
        "each of its blocks, and at most a buffer and a dimension more");
  for (auto [factor, numbers] : llvm::zip(op.getBlockFactors(), op.getBlocks())) {
    bool isSum = cast<ArrayAttr>(numbers).size() > 4;
    if (failed(verifyDim(op, factor.buffer, factor.dim)) ||
        (isSum && failed(verifyDim(op, factor.addedBuffer, factor.addedDim))))
      return failure();
    int64_t rank = op.getType(factor.buffer).getRank();
    if (factor.dims <= 0 || factor.dims > rank - factor.dim)
      return op.emitOpError("expected blocks of 1 to ")
             << rank - factor.dim << " dimensions, found " << factor.dims;
    if (factor.divisor <= 0)
      return op.emitOpError("expected blocks of a positive divisor, found ") << factor.divisor;
  }
  return success();
}

static LogicalResult verifyMap(KernelOp op, const KernelOp::Map &map) {
  constexpr int64_t kMaxDims = 5, kMaxBox = 256, kRowBytes = 128;
  if (map.buffer < 0 || map.buffer >= int64_t(op.getTypes().size()))
    return op.emitOpError("expected tensor_maps of one of ")
           << op.getTypes().size() << " buffers, found " << map.buffer;
  MemRefType type = op.getType(map.buffer);
  if (!type.getElementType().isIntOrFloat())
    return op.emitOpError("expected tensor_maps of numbers, found ") << type;
  if (type.getRank() < 1 || type.getRank() > kMaxDims || int64_t(map.box.size()) != type.getRank())
    return op.emitOpError("expected tensor_maps of 1 to ")
           << kMaxDims << " dimensions and a size of each, found " << map.box.size() << " sizes of "
           << type;
  for (int64_t size : map.box)
    if (size < 1 || size > kMaxBox)
      return op.emitOpError("expected boxes of 1 to ")
             << kMaxBox << " elements in a dimension, found " << size;
  int64_t bytes = map.box.back() * int64_t(type.getElementTypeBitWidth()) / 8;
  if (bytes != kRowBytes)
    return op.emitOpError("expected boxes whose rows have ")
           << kRowBytes << " bytes, found " << bytes;
  return success();
}

/// (C5)
static LogicalResult verifyMaps(KernelOp op) {
  if (!op.getTensorMapsAttr())
    return success();
  if (!llvm::all_of(op.getTensorMapsAttr(), isOfNumbers))
    return op.emitOpError("expected a buffer and the sizes of a box for each of its tensor_maps");
  for (const KernelOp::Map &map : op.getMaps())
    if (failed(verifyMap(op, map)))
      return failure();
  return success();
}

/// (C6)
LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getFallbackAttr())
    return success();
  auto other = symbols.lookupNearestSymbolFrom<KernelOp>(getOperation(), getFallbackAttr());
  if (!other || other == *this)
    return emitOpError("expected another cuda.kernel as fallback, found ") << getFallbackAttr();
  if (other.getTypes() != getTypes() || other.getNumInputs() != getNumInputs())
    return emitOpError("expected a fallback of the same buffers, found ") << getFallbackAttr();
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
  if (int64_t bytes = getSharedBytes(); bytes < 0 || bytes > GpuInfo::kMaxSharedBytes)
    return emitOpError("expected at most ")
           << GpuInfo::kMaxSharedBytes << " shared_bytes, found " << bytes;
  return success(succeeded(verifyBlocks(*this)) && succeeded(verifyMaps(*this)));
}

LogicalResult KernelOp::verifyRegions() { // (C2)
  SmallVector<Type> expected;
  for (Type type : getTypes().getAsValueRange<TypeAttr>())
    llvm::append_range(expected, getArgumentTypes(cast<MemRefType>(type)));
  expected.append(getMaps().size(), getMapType(getContext()));
  if (llvm::equal(getBody().getArgumentTypes(), expected))
    return success();
  return emitOpError("expected a body with ")
         << expected.size()
         << " arguments, an address, sizes and strides for each buffer, then tensor maps, found "
         << getBody().getNumArguments();
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Cuda/CudaOps.cpp.inc"
