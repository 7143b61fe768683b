//===- Spec.h - the module a command works on -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_SPEC_SPEC_H
#define ATTNC_SPEC_SPEC_H

#include "attnc/Spec/Signature.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>

namespace attnc {

/// Where a spec is read from.
struct SpecSource {
  /// A file .mlir, as text or bytecode, or .onnx; `-` is stdin.
  std::string path;
  /// The function of interest; may be empty if there is one public function.
  std::string function;
  /// Files .safetensors that arguments with `attn.weight` are bound from; none: they stay arguments.
  std::vector<std::string> weights;
  /// Accepts bytecode, which is checked less than text.
  bool allowBytecode = false;
  /// A file of schedules that `attnc tune` measured; empty: none.
  std::string schedules = {};
  /// Ranks and links that the exchange of spread sequences is chosen for: see `attn-shard`.
  std::string cluster = {};
};

/// Whether a file is a model, by the end of its name: an importer of `lib/Import` makes it a spec.
bool isModel(llvm::StringRef path);

/// How far a spec has been lowered. A file may hold any of them.
enum class Stage { Graph, Fused, Scheduled };

/// A spec with one function of interest. All errors are diagnostics on stderr with their place.
class Spec {
public:
  /// Null after an error.
  static std::unique_ptr<Spec> load(const SpecSource &source);
  ~Spec();

  llvm::StringRef getPath() const { return source.path; }
  mlir::ModuleOp getModule() { return *module; }
  mlir::func::FuncOp getFunction();
  mlir::MLIRContext &getContext() { return context; }
  Stage getStage() const { return stage; }

  /// Simplifies the graph without changing its stage.
  mlir::LogicalResult simplify();
  /// Runs the pipelines up to `to` for `target`, a Halide target in full; a spec already at that
  /// stage stays as it is. `remarks`: remarks at each op whether it fused.
  mlir::LogicalResult lower(Stage to, llvm::StringRef target, bool remarks = false);
  /// What was lowered since is undone by `restore`: stdin, say, is not there to be read again.
  struct State {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    Stage stage;
  };
  State save() { return {module->clone(), stage}; }
  void restore(const State &state);
  /// A copy lowered to `to`; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> getLowered(Stage to, llvm::StringRef target);

  /// In a fused or scheduled spec every size has a symbol.
  Signature getSignature() { return readSignature(getFunction()); }

private:
  explicit Spec(SpecSource source);
  mlir::LogicalResult parse();
  mlir::LogicalResult checkText(llvm::MemoryBufferRef spec);
  mlir::LogicalResult parseText();
  mlir::LogicalResult importModel();
  mlir::LogicalResult selectFunction();
  mlir::LogicalResult checkFunction();
  mlir::LogicalResult bindWeights();
  mlir::LogicalResult lower(mlir::ModuleOp copy, Stage to, llvm::StringRef target, bool remarks);
  mlir::LogicalResult run(mlir::PassManager &passes, mlir::ModuleOp copy);

  SpecSource source;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<class DiagnosticPrinter> printer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The name of the function of interest.
  std::string function;
  Stage stage = Stage::Graph;
};

} // namespace attnc

#endif // ATTNC_SPEC_SPEC_H
