//===- Artefact.cpp - kinds of compiled files -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Driver/Artefact.h"

#include "attnc/Machine/GpuInfo.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::Artefact;

static constexpr KindInfo kinds[] = {
    {Kind::attn, "attn", "attn.mlir", "the graph, simplified", true, {}},
    {Kind::fused, "fused", "fused.mlir", "the graph after fusion, with schedules chosen", true, {}},
    {Kind::halide, "halide", "halide.mlir", "each kernel's algorithm and schedule", true, {}},
    {Kind::stmt, "stmt", "stmt", "each kernel's loop nest, lowered by Halide", true,
     Artefact::stmt},
    {Kind::stmt_html, "stmt_html", "stmt.html", "the loop nest as a web page", true,
     Artefact::stmt_html},
    {Kind::llvm_assembly, "llvm_assembly", "ll", "each kernel as LLVM IR", true,
     Artefact::llvm_assembly},
    {Kind::assembly, "assembly", "s", "each kernel's assembly", true, Artefact::assembly},
    {Kind::object, "object", "o", "the library as one relocatable object", false, {}},
    {Kind::static_library, "static_library", "a", "libNAME.a", false, {}},
    {Kind::shared_library, "shared_library", "so", "libNAME.so", false, {}},
    {Kind::cmake_package, "cmake_package", "cmake", "files for CMake's find_package", false, {}},
    {Kind::pkg_config, "pkg_config", "pc", "NAME.pc for pkg-config", false, {}},
    {Kind::sbom, "sbom", "cdx.json", "the library's bill of materials, in CycloneDX", true, {}},
    {Kind::c_header, "c_header", "h", "the C declarations, with dlpack.h beside", true, {}},
    {Kind::json, "json", "json", "inputs, outputs, target, schedules and FLOPs", true, {}},
    {Kind::device_code, "device_code", "ptx",
     "each kernel's code for a GPU: PTX, or OpenCL C (.cl)", true, Artefact::device_code},
};

ArrayRef<KindInfo> attnc::getKinds() { return kinds; }

const KindInfo &attnc::getInfo(Kind kind) {
  return *llvm::find_if(kinds, [&](const KindInfo &info) { return info.kind == kind; });
}

bool attnc::definesFunction(Kind kind) {
  return kind == Kind::object || kind == Kind::static_library || kind == Kind::shared_library;
}

StringRef attnc::getExtension(const KindInfo &info, StringRef target) {
  auto gpu = mlir::attn::GpuInfo::fromTarget(target);
  if (info.kind != Kind::device_code || !gpu)
    return info.extension;
  return gpu->api == mlir::attn::GpuApi::cuda ? "ptx" : "cl";
}
