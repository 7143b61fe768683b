//===- Schedules.cpp - the kernels that schedules describe ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"
#include "MmaLinear.h"
#include "WgmmaAttention.h"

#include "attnc/Conversion/AttnToNVVM.h"
#include "attnc/Dialect/Attn/TensorCores.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
struct MmaKernel : KernelBuilderAttrInterface::ExternalModel<MmaKernel, MmaAttr> {
  FailureOr<BuiltKernel> buildKernel(Attribute schedule, OpBuilder &builder, StringRef name,
                                     Operation *op, ArrayRef<MapOp>) const {
    return nvvm::MmaAttention(builder, name, cast<AttentionOp>(op), cast<MmaAttr>(schedule))
        .build();
  }
  SmallVector<RankedTensorType> getPartialTypes(Attribute schedule, Operation *op) const {
    return nvvm::getPartialTypes(cast<AttentionOp>(op), cast<MmaAttr>(schedule));
  }
  FailureOr<BuiltKernel> buildMerge(Attribute schedule, OpBuilder &builder, StringRef name,
                                    Operation *op, ArrayRef<Value> partials) const {
    return nvvm::buildMerge(builder, name, cast<AttentionOp>(op), cast<MmaAttr>(schedule),
                            partials);
  }
};

struct WgmmaKernel : KernelBuilderAttrInterface::ExternalModel<WgmmaKernel, WgmmaAttr> {
  FailureOr<BuiltKernel> buildKernel(Attribute schedule, OpBuilder &builder, StringRef name,
                                     Operation *op, ArrayRef<MapOp>) const {
    auto attention = cast<AttentionOp>(op);
    auto wgmma = cast<WgmmaAttr>(schedule);
    std::string other = (name + "_any_layout").str();
    BuiltKernel fallback = nvvm::MmaAttention(builder, other, attention,
                                              fitMmaToManyRows(attention, wgmma.getMaxQLen()))
                               .build();
    return nvvm::WgmmaAttention(builder, name, attention, wgmma).build(fallback);
  }
};

struct MmaLinearKernel : KernelBuilderAttrInterface::ExternalModel<MmaLinearKernel, MmaLinearAttr> {
  FailureOr<BuiltKernel> buildKernel(Attribute schedule, OpBuilder &builder, StringRef name,
                                     Operation *op, ArrayRef<MapOp> epilogue) const {
    return nvvm::MmaLinear(builder, name, cast<LinearOp>(op), epilogue,
                           cast<MmaLinearAttr>(schedule))
        .build();
  }
};
} // namespace

void attn::registerCudaKernelBuilders(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    MmaAttr::attachInterface<MmaKernel>(*context);
    WgmmaAttr::attachInterface<WgmmaKernel>(*context);
    MmaLinearAttr::attachInterface<MmaLinearKernel>(*context);
    // Of the ops that it builds.
    context->loadDialect<cuda::CudaDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
                         arith::ArithDialect, math::MathDialect>();
  });
}
