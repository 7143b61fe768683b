//===- Passes.td - passes on the attn dialect -------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_PASSES_TD
#define ATTNC_DIALECT_ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnRaise : Pass<"attn-raise", "::mlir::func::FuncOp"> {
  let summary = "Find attention and linear layers among products of matrices";
  let description = [{
    Replaces what graphs write with `attn.matmul` by the ops that say what it is:

    | written | becomes |
    |---|---|
    | exp(x - max x) / sum, before or after the product with the values | `attn.softmax` |
    | a product that a softmax takes | `attn.score` |
    | `attn.map` and `arith` between the two, however reshaped | `attn.modify_score` |
    | the product of a softmax's result | `attn.context` |
    | `attn.map` and `arith` between the two | `attn.modify_prob` |
    | a product with a matrix, and a row added to it | `attn.linear` |
    | a transposed reshape, a reshaped transpose | `attn.split_heads`, `attn.merge_heads` |

    Dimensions in front of the matrices may be any number: the last one counts heads, the
    others batches; where the right side lacks the last one, its heads are shared. Sizes
    of one batch and head are added. A softmax along the rows of a product makes its right side
    the query. Masks and biases that reshapes, transposes and cheap maps made are read
    where these read them, so that analyses see `k <= q` and no table of it.

    A prob of exactly zero contributes exactly zero to a context, whatever the value holds,
    as it does not to a product. A product with a constant, or an argument with `attn.weight`,
    is a layer and no score. What is not found stays as it is.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::tensor::TensorDialect"];
}

def AttnFuseAttention : Pass<"attn-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Fuse score, mask, softmax and context into attn.attention";
  let description = [{
    Recognises score → (modify_score | mask)* → softmax → (modify_prob)* →
    context in any spelling and replaces it by one `attn.attention`:

    - scales before or after, on query, key or both, on the score or on the prob;
    - masks as `attn.mask`, as a -inf bias or as a select of -inf.

    Takes any graph. Elementwise `arith` and `math` on a whole score or prob
    becomes the region of a modify op, and constant factors of query and key go
    into the score's scale, fused or not. A condition that only hides scores
    becomes the mask; one that something other than a bias or a positive factor
    follows stays in the score_mod, where it was. What is added behind a condition
    that selects or adds -inf is taken to be no NaN and no +inf where that hides:
    nothing is read there, neither for the context nor for prob and lse beside it.
    Contexts of one prob become parts of one, whose value is theirs side by side. An
    `attn.lse` of the masked score becomes the second result, unless something that the
    context depends on, or that stands before it, reads it.

    Leaves alone what has no fused form: an intermediate with another use, a
    softmax along another axis, a prob region that is not linear in the prob.
    With `remarks`, each softmax gets a remark that says what fused, or why not.
  }];
  let options = [Option<"remarks", "remarks", "bool", "false",
      "emit a remark at each softmax: fused, or why not">];
  let statistics = [Statistic<"numFused", "fused", "attention cores fused">];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def AttnSelectSchedule : Pass<"attn-select-schedule", "::mlir::func::FuncOp"> {
  let summary = "Choose the schedule of each attn.attention from shape and target";
  let description = [{
    Sets `schedule` on every `attn.attention` that has none. The register tiles
    follow from the target's vector width and number of vector registers, the
    row tile from q_len where it is static. Ops with a schedule are left alone, so
    that a person may set it by hand; one for a GPU where the target is a CPU, or
    the other way round, is an error, as is one where no fused kernel computes the
    op. Runs on fused graphs; what comes out is input to `convert-attn-to-halide`.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"",
      "Halide target the kernels are meant for">];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def AttnNameDims : Pass<"attn-name-dims", "::mlir::func::FuncOp"> {
  let summary = "Name every size that is known only when called";
  let description = [{
    Gives `attn.dims` to every argument with a dynamic size that has none, with a
    symbol of its own for each such size, and to every result whose sizes are
    those of arguments, with the arguments' symbols. So a library can check a
    result's sizes, and a caller can allocate it, before anything is computed.

    Takes functions on tensors. A symbol of a result that no argument has is an
    error; a result with a size that is computed is left alone.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def AttnBindWeights : Pass<"attn-bind-weights", "::mlir::ModuleOp"> {
  let summary = "Bind arguments with attn.weight to tensors of a safetensors file";
  let description = [{
    Replaces every argument `{attn.weight = "name"}` by a constant: the tensor of
    that name in `file`, which stays mapped and is not copied. What follows can
    then lay weights out for the kernels while it compiles.

    Takes any function on tensors. A tensor that the file lacks, or has with
    another type or shape, is an error, as is a file that isn't one of
    safetensors. Tensors that no argument names are left in the file.
  }];
  let options = [Option<"file", "file", "std::string", "\"\"",
      "the safetensors file">];
  let statistics = [Statistic<"numBound", "bound", "arguments bound">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnDecompose : Pass<"attn-decompose", "::mlir::func::FuncOp"> {
  let summary = "Replace ops that have no kernel of their own by ops that do";
  let description = [{
    Every `attn.attention` without a schedule, which no fused kernel serves, becomes
    `attn.score`, `attn.modify_score`, `attn.mask`, `attn.softmax`, `attn.modify_prob`
    and `attn.context`, each a kernel; a softmax beside a sink becomes a plain one and
    an `attn.map`; `attn.dropout` the region that computes it; `attn.positions` tables of
    sines and cosines and the ops that read them. Of the tensor dialect, padding, splats,
    reshapes, and slices with strides or fewer dimensions become simpler ops.

    Takes functions on tensors, after `attn-select-schedule`; what comes out is input to
    `convert-attn-to-halide`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTNC_DIALECT_ATTN_PASSES_TD
