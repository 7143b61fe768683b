//===- Pipelines.cpp - the compiler's pass pipelines
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Pipelines/Pipelines.h"

#include "attnc/Conversion/AttnToHalide.h"
#include "attnc/Conversion/AttnToNVVM.h"
#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Cuda/Cuda.h"
#include "attnc/Dialect/Halide/Halide.h"
#include "attnc/Dialect/Halide/Passes.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Dialect/Host/Passes.h"
#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void attn::buildGraphPipeline(OpPassManager &pm) {
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  pm.addNestedPass<func::FuncOp>(createAttnRefineShapes());
  pm.addNestedPass<func::FuncOp>(createAttnMergeMaps());
  pm.addNestedPass<func::FuncOp>(createAttnRaise());
}

void attn::buildFusionPipeline(OpPassManager &pm, const AttnPipelineOptions &options) {
  buildGraphPipeline(pm);
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createAttnNameDims());
  AttnFuseAttentionOptions fuse;
  fuse.remarks = options.remarks;
  pm.addNestedPass<func::FuncOp>(createAttnFuseAttention(fuse));
  AttnShardOptions shard;
  shard.cluster = options.cluster;
  pm.addNestedPass<func::FuncOp>(createAttnShard(shard));
  if (!options.schedules.empty()) {
    AttnMeasuredSchedulesOptions measured;
    measured.target = options.target;
    measured.database = options.schedules;
    pm.addNestedPass<func::FuncOp>(createAttnMeasuredSchedules(measured));
  }
  AttnSelectScheduleOptions schedule;
  schedule.target = options.target;
  pm.addNestedPass<func::FuncOp>(createAttnSelectSchedule(schedule));
}

void attn::buildSchedulePipeline(OpPassManager &pm, const AttnPipelineOptions &options) {
  pm.addNestedPass<func::FuncOp>(createAttnDecompose());
  ConvertAttnToHalideOptions convert;
  convert.target = options.target;
  pm.addPass(createConvertAttnToHalide(convert));
  if (GpuInfo::fromTarget(options.target))
    pm.addPass(halide::createHalideMapToGpu());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(host::createHostCheckFirst());
}

void attn::buildAttnPipeline(OpPassManager &pm, const AttnPipelineOptions &options) {
  buildFusionPipeline(pm, options);
  buildSchedulePipeline(pm, options);
}

void attn::registerAllDialects(DialectRegistry &registry) {
  registry
      .insert<AttnDialect, cuda::CudaDialect, halide::HalideDialect, host::HostDialect,
              arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
              memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect, tensor::TensorDialect>();
  func::registerInlinerExtension(registry);
  registerHalideKernelBuilders(registry);
  registerCudaKernelBuilders(registry);
}

void attn::registerAllPasses() {
  registerAttnPasses();
  halide::registerHalidePasses();
  host::registerHostPasses();
  registerAttncConversionPasses();
  registerTransformsPasses();
  memref::registerResolveRankedShapeTypeResultDimsPass();
  PassPipelineRegistration<AttnPipelineOptions>(
      "attn-pipeline", "From an attn graph to scheduled halide pipelines and a host function",
      buildAttnPipeline);
}
