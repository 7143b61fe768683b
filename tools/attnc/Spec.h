//===- Spec.h - the module a command works on -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_SPEC_H
#define ATTNC_TOOLS_ATTNC_SPEC_H

#include "attnc/Target/Library/Library.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>

namespace attnc {

/// How far a spec has come. A file may hold any of them.
enum class Stage { Graph, Fused, Scheduled };

/// An argument or result as the caller of the library sees it.
struct Parameter {
  std::string name;
  mlir::Type elementType;
  /// ShapedType::kDynamic where the size is known only when called.
  llvm::SmallVector<int64_t> shape;
  /// The symbol of each dimension in `attn.dims`; empty where there is none.
  llvm::SmallVector<std::string> symbols;
};

struct Signature {
  llvm::SmallVector<Parameter> inputs, outputs;
};

/// `tensor<2x?xf32>` in a caller's words: `f32[2, q_len]`.
std::string describe(const Parameter &parameter);

/// Where something stands: `spec.mlir:3:8`, or `model.onnx: node 'a' (Add, opset 17)`. Empty
/// where that is not known.
std::string describePlace(mlir::Location loc);

/// A spec with one function of interest. Diagnostics go to stderr with their place.
class Spec {
public:
  /// Reads SPEC, .mlir or .onnx, takes the function that `--function` names, or the only one, and
  /// binds the arguments that are in `--weights`.
  static std::unique_ptr<Spec> load();
  /// The same of another file.
  static std::unique_ptr<Spec> load(llvm::StringRef path);
  ~Spec();

  mlir::ModuleOp getModule() { return *module; }
  mlir::func::FuncOp getFunction();
  mlir::MLIRContext &getContext() { return context; }
  Stage getStage() const { return stage; }

  /// Simplifies the graph without changing its stage.
  mlir::LogicalResult simplify();
  /// Runs the pipelines up to `to`; nothing happens where the spec is that far.
  mlir::LogicalResult lower(Stage to, llvm::StringRef target, bool remarks = false);
  /// A copy, taken as far; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> getLowered(Stage to, llvm::StringRef target);

  /// Of a fused or scheduled spec, where every size has its symbol.
  Signature getSignature();

private:
  Spec();
  mlir::LogicalResult parse();
  mlir::LogicalResult checkText(llvm::MemoryBufferRef spec);
  mlir::LogicalResult parseText();
  mlir::LogicalResult importModel();
  mlir::LogicalResult selectFunction();
  mlir::LogicalResult checkFunction();
  mlir::LogicalResult bindWeights();
  mlir::LogicalResult lower(mlir::ModuleOp copy, Stage to, llvm::StringRef target, bool remarks);
  mlir::LogicalResult run(mlir::PassManager &passes, mlir::ModuleOp copy);

  std::string path;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<class DiagnosticPrinter> printer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string function;
  Stage stage = Stage::Graph;
};

/// Compiles one spec, scheduled for each target, showing that it lasts.
mlir::FailureOr<mlir::attn::Library> buildLibrary(llvm::ArrayRef<mlir::attn::LibrarySource> sources,
                                                  const mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_SPEC_H
