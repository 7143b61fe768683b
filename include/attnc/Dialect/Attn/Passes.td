//===- Passes.td - passes on the attn dialect -------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_PASSES_TD
#define ATTNC_DIALECT_ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnMergeMaps : Pass<"attn-merge-maps", "::mlir::func::FuncOp"> {
  let summary = "Merge ops on single elements into those that read them";
  let description = [{
    Front ends write an op for each sum, product and comparison. What only one op reads becomes
    part of it, so that no tensor is made between the two:

    - an `attn.map` that another one reads, part of its region; a cheap one also of up to four;
    - a `tensor.generate` that reads tensors and that an `attn.map` reads, one with it;
    - cheap reads of tensors inside a `tensor.generate`: what another one gives, or integers that
      an `attn.map` does;
    - inside a region on scores or probs, whatever cheap maps gave, however many read it;
    - inside a region on scores or probs or a `tensor.generate`, whatever follows from indices
      alone: a `tensor.generate` that reads no tensor, and reshapes, transposes and slices of it.

    A `tensor.generate` of indices alone that an `attn.map` reads stays for `attn-raise`, which
    checks its sizes. At most 256 ops become part of a region.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::tensor::TensorDialect"];
}

def AttnRaise : Pass<"attn-raise", "::mlir::func::FuncOp"> {
  let summary = "Find attention and linear layers among products of matrices";
  let description = [{
    Raises `attn.matmul` and its surroundings to the ops for attention and layers:

    | written | becomes |
    |---|---|
    | exp(x - max x) / sum, before or after the product with the values | `attn.softmax` |
    | a product that a softmax takes | `attn.score` |
    | `attn.map` and `arith` between a score and its softmax, however reshaped | `attn.modify_score` |
    | the product of a softmax's result | `attn.context` |
    | `attn.map` and `arith` between a softmax and its context | `attn.modify_prob` |
    | a product with a matrix, and a row added to it | `attn.linear` |
    | a transposed reshape, a reshaped transpose | `attn.split_heads`, `attn.merge_heads` |

    Dimensions in front of the matrices may be any number: the last one counts heads, the
    others batches; where the right side lacks the last one, its heads are shared. Sizes
    of one batch and head are added. A softmax along the rows of a product makes its right side
    the query. Masks and biases that reshapes, transposes and cheap maps made are read
    where these read them, so that analyses see `k <= q` and no table of it. Products of f16 or
    bf16 around a softmax in f32 are computed in f32, of widened operands, and not rounded between.

    A prob of exactly zero contributes exactly zero to a context, whatever the value holds,
    as it does not to a product. A product with a constant, or an argument with `attn.weight`,
    is a layer and no score. What is not found stays as it is.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::tensor::TensorDialect"];
}

def AttnFuseAttention : Pass<"attn-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Fuse score, mask, softmax and context into attn.attention";
  let description = [{
    Replaces score → (modify_score | mask)* → softmax → (modify_prob)* → context, in any spelling,
    by one `attn.attention`:

    - scales on the score or on the prob;
    - masks as `attn.mask`, as a -inf bias or as a select of -inf.

    Takes any graph; elementwise ops on a whole score or prob are regions after `attn-raise`. A
    condition that only hides scores becomes the mask; if anything other than a bias or a positive
    factor follows, it stays in the score_mod. A bias added after a condition that selects or adds
    -inf is assumed not to be NaN or +inf at hidden keys: it is not read there, neither for the
    context nor for prob and lse. Several contexts of one prob become slices of one, of their
    concatenated values. An `attn.lse` of the masked score becomes the second result, unless it is
    read before the context.

    Does not fuse: an intermediate with another use, a softmax along another axis, a prob region
    that is not linear in the prob. With `remarks`, each softmax gets a remark that says what fused,
    or why it did not.
  }];
  let options = [Option<"remarks", "remarks", "bool", "false",
      "emit a remark at each softmax: fused, or why not">];
  let statistics = [Statistic<"numFused", "fused", "attention cores fused">];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def AttnShard : Pass<"attn-shard", "::mlir::func::FuncOp"> {
  let summary = "Spread sequences over several processes";
  let description = [{
    Takes a fused function of a whole sequence whose attribute `attn.shard` names sizes of `attn.dims`,
    each with its layout (`#attn.shard`), and makes it the function that each rank calls with its
    shards: of all arguments with such a dimension it gets its part, and returns its part of the
    results.

    | rows | keys | attention becomes |
    |---|---|---|
    | spread | spread | `attn.ring`: keys and values go around; each part is computed and merged |
    | spread | spread | itself, on keys and values of all ranks (`attn.all_gather`), or of those near the rows (`halo`) |
    | whole | spread | the part of this rank's keys, and `attn.all_reduce` of context and lse |
    | spread | whole | itself |

    Of several strategies the one named for the size of the keys is taken, else the fastest by the
    model of ShardCost.h for `cluster`: `ranks=8,rows=8192,gflops=1000,memory=100,link=100,latency=10`,
    of which any may be given: ranks, rows of each, GFLOP/s and GB/s of a rank, Gbit/s and microseconds
    of a link. `attn.estimates` of the op that exchanges tells what was compared.

    In regions, q and k become positions in the whole sequence, and sizes those of the whole; tensors
    with a spread dimension are read at the shard's own q and k. Other ops work row by row as they
    are: `attn.map`, `attn.linear`, `attn.layer_norm`, `attn.transpose`, heads, elementwise ops; any
    other on a spread dimension is an error, as is attention on pages or packed rows.

    Ranks may have different numbers of rows and keys, which a call exchanges first (`attn.places`).
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"\"",
      "ranks and links that strategies are compared for">];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AttnMeasuredSchedules : Pass<"attn-measured-schedules", "::mlir::func::FuncOp"> {
  let summary = "Take the schedules that attnc tune measured on this machine";
  let description = [{
    Sets `schedule` on every `attn.attention` that has none and that the database has schedules of,
    found on this processor for this target; a remark says where they stand. Entries of another
    processor, and those that do not verify, are left, with a remark or a warning. Runs before `attn-select-schedule`, which schedules the rest.
  }];
  let options = [
      Option<"target", "target", "std::string", "\"host\"", "Halide target of the kernels, in full">,
      Option<"database", "database", "std::string", "\"\"", "file that attnc tune wrote">];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def AttnSelectSchedule : Pass<"attn-select-schedule", "::mlir::func::FuncOp"> {
  let summary = "Choose the schedule of each attn.attention from shape and target";
  let description = [{
    Sets `schedule` on every `attn.attention` that has none, and on every `attn.linear` that a GPU's
    tensor cores compute. The register tiles follow from the
    target's vector width and number of vector registers, the query block from q_len if it is static.
    For a dynamic q_len there are several schedules, each for the calls of some q_len; on a CPU, in a
    function with the attribute `attn.q_len = 16`, only the one for calls of 16 query rows, which
    serves others as well.
    Schedules set by hand are kept; a GPU schedule for a CPU target, or the reverse, is an error, as
    is a schedule for an op that no fused kernel computes. Runs on fused graphs, before
    `convert-attn-to-halide`.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"",
      "Halide target of the kernels">];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def AttnRefineShapes : Pass<"attn-refine-shapes", "::mlir::func::FuncOp"> {
  let summary = "Give results the sizes that operands tell";
  let description = [{
    Makes a dimension that a result's type leaves open static where the types of the op's operands
    tell its size, and folds casts that then say no less. `tensor.cast` gives ops that need the old
    type, such as `func.return`, what they had.

    Takes functions on tensors. A size of 0 stays open. Ops whose types contradict each other are
    left as they are.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def AttnNameDims : Pass<"attn-name-dims", "::mlir::func::FuncOp"> {
  let summary = "Name dynamic sizes of arguments and results";
  let description = [{
    Adds `attn.dims` to every argument with a dynamic size, with a new symbol for each unnamed size
    (the same one for sizes that ops require to be equal, named as by them: `batch`, `kv_len`), and to
    every result whose sizes are those of arguments, with the arguments' symbols. So a
    library can check a result's sizes, and a caller can allocate it, before the computation.

    Takes functions on tensors. A result's symbol that no argument has is an error; results with
    computed sizes are left unchanged.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def AttnBindWeights : Pass<"attn-bind-weights", "::mlir::ModuleOp"> {
  let summary = "Bind arguments with attn.weight to tensors of safetensors files";
  let description = [{
    Replaces every argument `{attn.weight = "name"}` by a constant: the tensor of that name in
    one of `files`, which are memory-mapped and not copied. Later passes can then pack weights at
    compile time. A linear layer whose schedules read such a weight in place loses them.

    Takes any function on tensors. A tensor missing in the files, in several of them, or of another
    type or shape, is an error, as is an invalid safetensors file. Tensors that no argument names
    are ignored.
  }];
  let options = [ListOption<"files", "files", "std::string",
      "the safetensors files: one, or the parts of a model's weights">];
  let statistics = [Statistic<"numBound", "bound", "arguments bound">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnDecompose : Pass<"attn-decompose", "::mlir::func::FuncOp"> {
  let summary = "Replace ops without a kernel by ops with one";
  let description = [{
    An `attn.attention` without a schedule, which no fused kernel serves, becomes `attn.score`,
    `attn.modify_score`, `attn.mask`, `attn.softmax`, `attn.modify_prob` and `attn.context`, each
    with its kernel; a softmax with a sink becomes a plain one and an `attn.map`; `attn.dropout`
    becomes a region; `attn.positions` becomes tables of sines and cosines and the ops that read
    them. Of the tensor dialect, padding, splats, reshapes, strided and rank-reducing slices become
    simpler ops.

    Takes functions on tensors, after `attn-select-schedule` and before `convert-attn-to-halide`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTNC_DIALECT_ATTN_PASSES_TD
