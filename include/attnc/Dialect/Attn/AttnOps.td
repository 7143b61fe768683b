//===- AttnOps.td - the attn dialect ----------------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention graphs: score, mask, softmax, context, and the layers around them. Constraints are
// labelled (C1), (C2)… in an op's description; its verifier and `test/Dialect/Attn/invalid.mlir`
// use the labels.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ATTNOPS_TD
#define ATTNC_DIALECT_ATTN_ATTNOPS_TD

include "attnc/Dialect/Attn/AttnOpInterface.td"
include "attnc/Dialect/Attn/ScheduleAttrInterface.td"

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "Attention graphs on tensors";
  let description = [{
    Ops work on ranked tensors of f16, bf16, f32 or f64 with static or dynamic
    sizes; `attn.map`, `attn.reduce` and `attn.transpose` also on integers and
    booleans (`i1`). Attention tensors have rank 4: query is `[batch, num_q_heads, q_len,
    head_dim]`, key `[batch, num_kv_heads, kv_len, head_dim]`, value `[batch,
    num_kv_heads, kv_len, value_dim]`, score and prob `[batch, num_q_heads,
    q_len, kv_len]`. `num_q_heads` is a multiple of `num_kv_heads`; query head
    `h` reads key and value head `h / (num_q_heads / num_kv_heads)`.

    Attributes of function arguments and results:

    - `attn.name = "query"`: its name in libraries, headers and `attnc run`; a C
      identifier, unique in the function. The default is the name in the spec's text,
      here `%query`.
    - `attn.dims = ["batch", 8, "q_len", 64]`: equal symbols are equal sizes,
      checked when the kernel is called; an integer repeats a static size.
    - `attn.weight = "layer.0.query.weight"`: bound to this tensor of a
      safetensors file at compile time.
    - `attn.result`: marks an argument of a host function that was a result of its spec.
    - `attn.in_place = 3`: such an argument may share the memory of argument 3.

    Of functions: `attn.shard = {len = #attn.shard<zigzag>}` spreads the dimensions that `attn.dims`
    calls `len` over several processes (`attn-shard`).

    Edge cases: a masked key contributes exactly zero, whatever its value holds; a row without a
    visible key gives prob 0, context 0, lse -inf; NaN in a visible input gives NaN.

    `-> type` is optional if the result's type follows from the operands' types.

    Kernels compute the indices of regions in 32 bits, or in 64 if a comparison or an integer would
    differ; what a comparison of indices beyond 64 bits gives is unspecified. The longest chain of dependent ops in a region has at most 4096 ops.
  }];
  let dependentDialects = ["arith::ArithDialect", "tensor::TensorDialect"];
  let extraClassDeclaration = [{
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def Attn_Float : AnyTypeOf<[F16, BF16, F32, F64], "f16, bf16, f32 or f64">;
def Attn_Tensor : RankedTensorOf<[F16, BF16, F32, F64]>;
/// What a linear layer multiplies, and its sums.
def Attn_Factor : RankedTensorOf<[F16, BF16, F32, F64, I8]>;
def Attn_Product : RankedTensorOf<[F16, BF16, F32, F64, I32]>;
def Attn_AnyTensor : RankedTensorOf<[F8E4M3FN, F16, BF16, F32, F64, I1, I8, I16, I32, I64]>;
def Attn_Tensor4D : TensorRankOf<[F16, BF16, F32, F64], [4]>;
/// Keys and values as they are stored: floats, or quantized to 8 bits (i8, f8E4M3FN).
def Attn_Stored4D : TensorRankOf<[F8E4M3FN, F16, BF16, F32, F64, I8], [4]>;
/// Scales of quantized keys or values: one for each block of dims of a row.
def Attn_Scales : TensorRankOf<[F16, BF16, F32], [4]>;
/// An attention sink: the score of an additional key, over (batch, head, q).
def Attn_Sink : TensorRankOf<[F16, BF16, F32, F64], [3]>;

/// The log-sum-exp of each row, over (batch, head, q).
def Attn_Lse : TensorRankOf<[F16, BF16, F32, F64], [3]>;

/// Page numbers of the pages of each sequence, over (batch, page of the sequence); or one sequence's
/// after the other's, by offsets.
def Attn_PageTable : TensorRankOf<[I32, I64], [1, 2]>;
/// The same; or, for groups of heads, over (batch, head group, page).
def Attn_PageLists : TensorRankOf<[I32, I64], [1, 2, 3]>;
/// The number of keys of each sequence.
def Attn_Lengths : TensorRankOf<[I32, I64], [1]>;
/// The first row of each sequence among packed rows, and, last, the number of rows.
def Attn_Offsets : TensorRankOf<[I32, I64], [1]>;

def Attn_Layout : I32EnumAttr<"Layout", "order of the batch and length dimensions", [
    I32EnumAttrCase<"batch_first", 0>, I32EnumAttrCase<"time_first", 1>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_PageLayout : I32EnumAttr<"PageLayout", "order of the keys and heads of a page", [
    I32EnumAttrCase<"keys_first", 0>, I32EnumAttrCase<"heads_first", 1>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_ReduceKind : I32EnumAttr<"ReduceKind", "reduction", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>,
    I32EnumAttrCase<"min", 3>, I32EnumAttrCase<"prod", 4>, I32EnumAttrCase<"l2", 5>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_NormMode : I32EnumAttr<"NormMode", "row normalisation", [
    I32EnumAttrCase<"layer", 0>, I32EnumAttrCase<"rms", 1>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_PositionKind : I32EnumAttr<"PositionKind", "position embedding", [
    I32EnumAttrCase<"sinusoidal", 0>, I32EnumAttrCase<"sinusoidal_by_column", 1>,
    I32EnumAttrCase<"rotary_halves", 2>, I32EnumAttrCase<"rotary_pairs", 3>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_Products : I32EnumAttr<"Products", "products of a fused kernel", [
    I32EnumAttrCase<"f32", 0>, I32EnumAttrCase<"bf16_pairs", 1>,
    I32EnumAttrCase<"bf16_tiles", 2>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_ShardLayout : I32EnumAttr<"ShardLayout", "places of a rank's shard in a sequence", [
    I32EnumAttrCase<"blocks", 0>, I32EnumAttrCase<"zigzag", 1>, I32EnumAttrCase<"striped", 2>,
    I32EnumAttrCase<"unordered", 3>]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_ShardStrategy : I32EnumAttr<"ShardStrategy", "how ranks exchange keys or results", [
    I32EnumAttrCase<"chosen", 0>, I32EnumAttrCase<"ring", 1>, I32EnumAttrCase<"all_gather", 2>,
    I32EnumAttrCase<"halo", 3>, I32EnumAttrCase<"all_reduce", 4>]> {
  let cppNamespace = "::mlir::attn";
}

class Attn_Attr<string cppName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Attn_Dialect, cppName, traits> {
  let mnemonic = attrMnemonic;
}

def Attn_PrefillAttr : Attn_Attr<"Prefill", "prefill",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["verifySchedule", "describeProducts"]>]> {
  let summary = "Holds the schedule parameters of a fused prefill kernel on a CPU";
  let description = [{
    Each query block of `q_block` rows iterates over the visible keys in KV blocks of `kv_block`.
    If one KV block covers all visible keys, online rescaling is skipped. Vectors have `vector_width`
    elements. Scores are computed in register tiles of `score_vectors` vectors of rows ×
    `score_keys` keys, the context in register tiles of `context_rows` rows × `context_vectors`
    vectors of value dims.

    A query block packs `packed_heads` query heads that share a key/value head, q_block /
    packed_heads rows of each. `kv_splits` and `min_split_keys` are those of `#attn.decode`, and so are
    `fetch_ahead` and `fetch_locality`, but keys are prefetched from one distance. Register tiles of
    scores in f32 prefetch values, too, if they are as long as keys. With a `copy_kv_blocks` of 1, keys
    and values are copied, a KV block at a time, before they are multiplied; with 0, the default, only
    those whose elements are converted.

    All but fetch_ahead and copy_kv_blocks are at least 1. A q_block is at most 1,024, a kv_block 65,536, a vector_width 64,
    a register tile 128 vectors, fetch_ahead 4,096 keys, fetch_locality 3, copy_kv_blocks 1.
    q_block is a multiple of vector_width · score_vectors, of context_rows and of packed_heads,
    kv_block one of score_keys and of 4.

    ```mlir
    #attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3,
                  score_keys = 8, context_rows = 6, context_vectors = 4>
    ```

    `products` says how query·key and prob·value are multiplied: `f32`, the default, widens shorter
    elements. `bf16_pairs` multiplies bf16 two at a time (`vdpbf16ps`; `halide.dot_bf16_pair` has
    the arithmetic): numerators are rounded to bf16, sums stay f32. It takes an even head_dim.
    `bf16_tiles` does the same with blocks of rows and keys at a time, by tiles of AMX or bfmmla on a CPU
    that has them (`halide.dot_bf16_tiles`). It takes a vector_width of 16 and a kv_block that is a multiple of
    32; register tiles of scores are those of the non-finite fallback.

    The kernel serves calls of at most `max_q_len` query rows; 0, the default, is no limit.
  }];
  let parameters = (ins "int64_t":$q_block, "int64_t":$kv_block,
      "int64_t":$vector_width, "int64_t":$score_vectors, "int64_t":$score_keys,
      "int64_t":$context_rows, "int64_t":$context_vectors,
      DefaultValuedParameter<"::mlir::attn::Products", "::mlir::attn::Products::f32">:$products,
      DefaultValuedParameter<"int64_t", "0">:$fetch_ahead,
      DefaultValuedParameter<"int64_t", "2">:$fetch_locality,
      DefaultValuedParameter<"int64_t", "0">:$copy_kv_blocks,
      DefaultValuedParameter<"int64_t", "1">:$packed_heads,
      DefaultValuedParameter<"int64_t", "1">:$kv_splits,
      DefaultValuedParameter<"int64_t", "1024">:$min_split_keys,
      DefaultValuedParameter<"int64_t", "0">:$max_q_len);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of independent accumulators of a row's maximum and sum over a KV block.
    static constexpr int64_t kAccumulators = 4;
  }];
}

def Attn_DecodeAttr : Attn_Attr<"Decode", "decode",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["verifySchedule", "describeProducts"]>]> {
  let summary = "Holds the schedule parameters of a fused kernel for few query rows on a CPU";
  let description = [{
    A query block of `q_block` rows packs `packed_heads` query heads that share a key/value
    head, q_block / packed_heads rows of each. It iterates over the visible keys in KV blocks
    of `kv_block`. Dot products are computed in vectors of dims, `score_rows` rows × `score_keys`
    keys at a time; the softmax has keys in the lanes. The context is computed as in
    `#attn.prefill`.

    `products` are `f32`, the default, or `bf16_pairs`, as in `#attn.prefill`. Vectors hold pairs of
    dims, or of keys: head_dim and kv_block are multiples of twice the vector_width, which is even.

    `kv_splits` is the largest number of KV splits of a query block, `min_split_keys`, above kv_block,
    the least number of keys in one. Splits are computed in parallel and merged in order; their number
    depends on the sizes alone, so results do not depend on the number of threads.

    Beside each key and value, those `fetch_ahead` keys further on are prefetched; 0, the default,
    leaves that to the CPU. A key is prefetched `fetches` times, 1 by default, each time at
    half the distance before: a core drops prefetches for which it has no buffer. They fill the L1
    cache with a `fetch_locality` of 3, L2 with 2, the default, L3 with 1, as in `memref.prefetch`.

    A task computes the query blocks of `interleaved_heads` neighbouring heads, 1 by default, KV block by
    KV block. Where a key's heads lie side by side, the keys of a block are read head by head, but the
    block `fetch_blocks` further on, if not 0, the default, is prefetched into L2 in the order of memory.

    All but fetch_ahead and fetch_blocks are at least 1. A kv_block is at most 65,536, a vector_width 64, a register tile
    (`score_rows` × `score_keys`, `context_rows` × `context_vectors`) 128 vectors, fetch_ahead 4,096 keys,
    fetches and fetch_blocks 4, fetch_locality 3; q_block · interleaved_heads is at most 1,024. q_block is a
    multiple of packed_heads, score_rows and context_rows, kv_block one of score_keys and vector_width.

    ```mlir
    #attn.decode<q_block = 4, packed_heads = 4, kv_block = 64, vector_width = 16, score_rows = 4,
                 score_keys = 4, context_rows = 4, context_vectors = 4, max_q_len = 1>
    ```

    The kernel serves calls of at most `max_q_len` query rows; 0, the default, is no limit.
  }];
  let parameters = (ins "int64_t":$q_block, "int64_t":$packed_heads, "int64_t":$kv_block,
      "int64_t":$vector_width, "int64_t":$score_rows, "int64_t":$score_keys,
      "int64_t":$context_rows, "int64_t":$context_vectors,
      DefaultValuedParameter<"::mlir::attn::Products", "::mlir::attn::Products::f32">:$products,
      DefaultValuedParameter<"int64_t", "0">:$fetch_ahead,
      DefaultValuedParameter<"int64_t", "1">:$fetches,
      DefaultValuedParameter<"int64_t", "2">:$fetch_locality,
      DefaultValuedParameter<"int64_t", "0">:$fetch_blocks,
      DefaultValuedParameter<"int64_t", "1">:$interleaved_heads,
      DefaultValuedParameter<"int64_t", "1">:$kv_splits,
      DefaultValuedParameter<"int64_t", "1024">:$min_split_keys,
      DefaultValuedParameter<"int64_t", "0">:$max_q_len);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_GpuAttr : Attn_Attr<"Gpu", "gpu",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["getTargetKind", "verifySchedule"]>]> {
  let summary = "Holds the schedule parameters of a fused kernel on a GPU";
  let description = [{
    `threads_x` × `threads_y` threads compute a query block of `q_block` rows, which packs
    `packed_heads` query heads that share a key/value head, q_block / packed_heads rows of each.
    They iterate over the visible keys in KV blocks of `kv_block`, staged in shared memory. Each
    thread holds q_block / threads_y rows × kv_block / threads_x keys of the scores and as many
    rows × `context_columns` value dims of the context in registers. `kv_splits` is the number
    of KV splits: thread blocks that share the keys of a query block, merged by a second kernel.

    All are at least 1. q_block is a multiple of packed_heads and threads_y, kv_block one of threads_x;
    `context_columns` is even; threads are at most 1,024, and a thread's scores 128.

    ```mlir
    #attn.gpu<q_block = 64, packed_heads = 1, kv_block = 32, kv_splits = 1,
              threads_x = 8, threads_y = 16, context_columns = 8>
    ```

    The kernel serves calls of at most `max_q_len` query rows; 0, the default, is no limit.
  }];
  let parameters = (ins "int64_t":$q_block, "int64_t":$packed_heads, "int64_t":$kv_block,
      "int64_t":$kv_splits, "int64_t":$threads_x, "int64_t":$threads_y,
      "int64_t":$context_columns, DefaultValuedParameter<"int64_t", "0">:$max_q_len);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_MmaAttr : Attn_Attr<"Mma", "mma",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["getTargetKind", "verifySchedule"]>]> {
  let summary = "Holds the schedule parameters of a fused kernel on a GPU's tensor cores";
  let description = [{
    A thread block computes a query block of `q_block` rows, `warp_rows` of them for each of its warps,
    with `mma.sync` of 16 x 8 x 16 elements of f16 or bf16 and sums in f32. It iterates over the visible
    keys in KV blocks of `kv_block`, copied asynchronously to shared memory. Scores, numerators and
    context stay in registers; regions are evaluated for each element of a fragment. With 32 rows, a
    warp multiplies keys and values twice that it has loaded once, and needs twice the registers.

    A query block packs `packed_heads` query heads that share a key/value head, q_block /
    packed_heads rows of each. With `kv_splits` above 1, as many thread blocks share the keys of a
    query block, and a second kernel merges their results. Both are 1 by default.

    ```mlir
    #attn.mma<q_block = 64, kv_block = 64>
    ```

    and with packed heads and splits

    ```mlir
    #attn.mma<q_block = 16, kv_block = 64, packed_heads = 4, kv_splits = 8, max_q_len = 1>
    ```

    It needs a GPU of capability 8.0 or above, elements of f16 or bf16, keys and values of the
    query's type, and a head_dim and value_dim up to 256, which are padded to multiples of 16.
    q_block and kv_block are multiples of 16 up to 128; their tiles take at most 48 KB of shared
    memory. warp_rows is 16, the default, or 32, and divides q_block. packed_heads is at most
    q_block, kv_splits at most 64. The kernel serves calls of at most `max_q_len` query rows; 0, the
    default, is no limit.
  }];
  let parameters = (ins "int64_t":$q_block, "int64_t":$kv_block,
      DefaultValuedParameter<"int64_t", "16">:$warp_rows,
      DefaultValuedParameter<"int64_t", "1">:$packed_heads,
      DefaultValuedParameter<"int64_t", "1">:$kv_splits,
      DefaultValuedParameter<"int64_t", "0">:$max_q_len);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_LinearAttr : Attn_Attr<"Linear", "linear",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface,
        ["getMaxQLen", "getLimitName", "verifySchedule", "describeProducts"]>]> {
  let summary = "Holds the schedule parameters of a linear layer on a CPU";
  let description = [{
    Sums are computed in register tiles of `row_tile` rows × `vectors` vectors of `vector_width`
    features; `row_block` rows are computed with one panel of weights, of vectors · vector_width
    features, before the next panel is read. Rows are those of the dimension before the last; or of the
    one before that, if it is the longer one and the kernel is the last, or reads weights in place.

    ```mlir
    #attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>
    ```

    `products` is that of `#attn.prefill`: `bf16_pairs` packs weights in pairs of in_features. An odd
    last one is multiplied alone. `bf16_tiles` packs them likewise, in_features padded to a multiple of 32,
    and takes a panel of a multiple of 16 features. Layers of i8 have products `f32`, the default: their
    weights are packed in quads of in_features, and a vector_width is at least 4.

    Weights are `packed` in panels by default. With `packed = false` they are read in place: vectors hold
    in_features, a multiple of vector_width, and a register tile is row_tile rows × `vectors` features,
    summed over the lanes at the end. A few rows then take no longer than reading the weights. Products
    are f32.

    All are at least 1. A vector_width is at most 64, a register tile 128 vectors; row_block is a multiple
    of row_tile, and its sums take at most 1 MiB of stack. The kernel serves calls of at most `max_rows` rows; 0, the default, is
    no limit.
  }];
  let parameters = (ins "int64_t":$row_tile, "int64_t":$vectors, "int64_t":$vector_width,
      "int64_t":$row_block,
      DefaultValuedParameter<"::mlir::attn::Products", "::mlir::attn::Products::f32">:$products,
      DefaultValuedParameter<"bool", "true">:$packed,
      DefaultValuedParameter<"int64_t", "0">:$max_rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Features of a panel of packed weights.
    int64_t getPanelColumns() const { return getVectors() * getVectorWidth(); }
  }];
}

def Attn_WgmmaAttr : Attn_Attr<"Wgmma", "wgmma",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["getTargetKind", "verifySchedule"]>]> {
  let summary = "Holds the schedule parameters of a fused kernel on the tensor cores of capability 9.0";
  let description = [{
    A thread block computes a query block of `q_block` rows, 64 rows for each of its warpgroups of four
    warps, with `wgmma` of 64 rows and sums in f32. All warpgroups share the keys and values of a KV
    block of `kv_block` keys, of which `stages` are in shared memory at once. Scores, numerators and
    context stay in registers, as those of `#attn.mma` do.

    ```mlir
    #attn.wgmma<q_block = 128, kv_block = 128, stages = 2>
    ```

    It needs a GPU of capability 9.0, and an op that `#attn.mma` takes. q_block is a multiple of 64 up
    to 192, kv_block one of 16 up to 256, and there are 1 to 4 stages; the tiles take at most 227 KB of
    shared memory. The kernel serves calls of at most `max_q_len` query rows; 0, the default, is no
    limit.
  }];
  let parameters = (ins "int64_t":$q_block, "int64_t":$kv_block, "int64_t":$stages,
      DefaultValuedParameter<"int64_t", "0">:$max_q_len);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_MmaLinearAttr : Attn_Attr<"MmaLinear", "mma_linear",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface,
                                 ["getMaxQLen", "getLimitName", "getTargetKind", "verifySchedule"]>]> {
  let summary = "Holds the schedule parameters of a linear layer on a GPU's tensor cores";
  let description = [{
    A thread block of four warps computes a tile of `row_block` rows × `feature_block` features with
    `mma.sync` of 16 x 8 x 16 elements of f16 or bf16 and sums in f32. Slices of `depth` elements of
    the input's rows and of the weights are copied asynchronously to shared memory, `stages` - 1 of
    them ahead of the products. Rows are those of all outer dimensions together.

    ```mlir
    #attn.mma_linear<row_block = 128, feature_block = 128, depth = 32, stages = 3>
    ```

    It needs a GPU of capability 8.0 or above, elements of f16 or bf16, static in_features and an
    input of rank 2 or more. row_block is 16, 32, 64 or 128, feature_block 64 or 128, depth 32 or 64;
    there are 2 to 4 stages, of at most 48 KB of shared memory in all. The kernel serves calls of at
    most `max_rows` rows; 0, the default, is no limit.
  }];
  let parameters = (ins "int64_t":$row_block, "int64_t":$feature_block, "int64_t":$depth,
      "int64_t":$stages, DefaultValuedParameter<"int64_t", "0">:$max_rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_ShardAttr : Attn_Attr<"Shard", "shard"> {
  let summary = "Says which places of a sequence are on which rank";
  let description = [{
    The value of a size in `attn.shard`. Ranks may have different numbers of rows. Rank r has, in order:

    | layout | places |
    |---|---|
    | `blocks` | those behind the places of ranks before it |
    | `zigzag` | a block of the first half and one of the second, whose blocks lie in the opposite order: under a causal mask all ranks compute equally much |
    | `striped` | r, r + ranks, r + 2·ranks… |
    | `unordered` | any; no mask or score may depend on them |

    Of n rows, the first ⌈n / 2⌉ are a `zigzag` shard's block of the first half. Numbers of `striped` rows
    are those that stripes of a sequence have: they differ by at most 1, and don't grow with r.

    Keys of other ranks are exchanged by the strategy that a cost model chooses (`attn-shard`), or by the one
    that is named for the size of the keys:

    | strategy | rows | exchange |
    |---|---|---|
    | `ring` | spread | the next rank's keys are on their way while those of one are computed |
    | `all_gather` | spread | all keys to all ranks, then one computation |
    | `halo` | spread | the keys that a window shows, of neighbours; rows and keys in `blocks` of one size |
    | `all_reduce` | whole | results over each rank's keys are merged |

    ```mlir
    #attn.shard<zigzag, all_gather>
    ```
  }];
  let parameters = (ins EnumParameter<Attn_ShardLayout>:$layout,
      DefaultValuedParameter<"::mlir::attn::ShardStrategy", "::mlir::attn::ShardStrategy::chosen">:$strategy);
  let assemblyFormat = "`<` $layout (`,` $strategy^)? `>`";
}

def Attn_Schedules : TypedArrayAttrBase<ScheduleAttrInterface, "schedules, one for each kernel">;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

/// Ops of graphs. `methods`: the methods of AttnOpInterface with a default that the op overrides.
class Attn_GraphOp<string mnemonic, list<string> methods, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<AttnOpInterface, methods>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>])> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult
    $cppClass::reifyResultShapes(::mlir::OpBuilder &builder,
                                 ::mlir::ReifiedRankedShapedTypeDims &shapes) {
      return ::mlir::attn::reifyResultSizes(builder, *this, shapes);
    }
  }];
}

/// Ops with a region over (…, batch, head, q, k) that may capture tensors.
class Attn_RegionOp<string mnemonic, list<string> methods, list<Trait> traits = []>
    : Attn_GraphOp<mnemonic, !listconcat(["getSizeConstraints"], methods), !listconcat(traits,
        [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>])>;

def Attn_ScoreOp : Attn_GraphOp<"score", ["getSizeConstraints", "getResultSizes", "getFlops"], [Pure]> {
  let summary = "Computes scale·query·keyᵀ";
  let description = [{
    The `attn.score` operation computes

      score[b, h, i, j] = scale · Σ_d query[b, h, i, d] · key[b, h / group, j, d]

    with group = num_q_heads / num_kv_heads. `scale` is 1 by default.

    - (C1) query, key and score have the same element type.
    - (C2) batch and head_dim of query and key match.
    - (C3) num_q_heads is a multiple of num_kv_heads.
    - (C4) the score is `[batch, num_q_heads, q_len, kv_len]`.
    - (C5) the scale is finite in f32, or f64 for f64 tensors.

    ```mlir
    %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$query, Attn_Tensor4D:$key,
      DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Attn_Tensor4D:$score);
  let assemblyFormat = [{
    $query `,` $key (`scale` `(` $scale^ `)`)? attr-dict
    `:` type($query) `,` type($key)
    custom<ResultType>(type($score), "ScoreOp()", ref(type($query)), ref(type($key)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor query, SizedTensor key);
  }];
  let hasVerifier = 1;
}

def Attn_AdditiveScoreOp : Attn_GraphOp<"additive_score", ["getSizeConstraints", "getResultSizes"], [Pure]> {
  let summary = "Computes weight·tanh(query + key)";
  let description = [{
    The `attn.additive_score` operation computes the score of additive attention
    (Bahdanau et al. 2014, https://arxiv.org/abs/1409.0473)

      score[b, h, i, j] = Σ_d weight[d] · tanh(query[b, h, i, d] + key[b, h / group, j, d])

    with group = num_q_heads / num_kv_heads. query and key are already projected: for
    v·tanh(W [h; e]) each projection is one half of W.

    - (C1) query, key, weight and score have the same element type.
    - (C2) batch and width of query and key match; weight has rank 1 and that width.
    - (C3) num_q_heads is a multiple of num_kv_heads.
    - (C4) the score is `[batch, num_q_heads, q_len, kv_len]`.

    ```mlir
    %s = attn.additive_score %q, %k, %w : tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>, tensor<64xf32> -> tensor<?x1x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$query, Attn_Tensor4D:$key, Attn_Tensor:$weight);
  let results = (outs Attn_Tensor4D:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $weight attr-dict
    `:` type($query) `,` type($key) `,` type($weight)
    custom<ResultType>(type($score), "ScoreOp()", ref(type($query)), ref(type($key)))
  }];
  let hasVerifier = 1;
}

def Attn_ModifyScoreOp : Attn_RegionOp<"modify_score", [], [AllTypesMatch<["score", "result"]>]> {
  let summary = "Applies a region to every score";
  let description = [{
    The `attn.modify_score` operation replaces each score by the value that its region yields for
    (score, batch, head, q, k). The region may contain any `arith` and `math` op on scalars and read
    captured tensors with `tensor.extract`: a bias, ALiBi slopes, a softcap, document ids.

    A key hidden by an earlier `attn.mask` stays hidden: if the score derives from a mask through
    `attn.modify_score` and `attn.mask` alone, a region that would turn its -inf into NaN (by adding
    NaN or +inf) leaves -inf. A region that makes a finite score of -inf, as the tanh of a softcap
    does, shows the key again: apply it before the mask. Where a region itself selects or adds
    -inf, a NaN or +inf added to that -inf gives NaN or, where it was found to be a mask, -inf.

    - (C1) the region takes the score's element type and four `index` values,
      and yields the element type.

    ```mlir
    %c = attn.modify_score %s {
    ^bb0(%score: f32, %batch: index, %head: index, %q: index, %k: index):
      %b = tensor.extract %bias[%head, %q, %k] : tensor<8x?x?xf32>
      %r = arith.addf %score, %b : f32
      attn.yield %r : f32
    } : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$score);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = "$score $body attr-dict `:` type($score)";
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_MaskOp : Attn_RegionOp<"mask", [], [AllTypesMatch<["score", "result"]>]> {
  let summary = "Masks scores with -inf";
  let description = [{
    The `attn.mask` operation keeps a score if its region yields true for (batch, head, q, k), and
    replaces it by -inf otherwise.

    Common masks have a short form that the parser expands into the region; several short forms mean
    their conjunction:

    | form | true where |
    |---|---|
    | `causal(top_left)` | k <= q |
    | `causal(bottom_right)` | k <= q + kv_len - q_len |
    | `window(L, R)` | -L <= k - q <= R |
    | `window(L, R, bottom_right)` | -L <= k - (q + kv_len - q_len) <= R |
    | `kv_lengths(%n : tensor<?xi32>)` | k < n[batch] |
    | `kv_offsets(%p : tensor<?xi32>)` | k < p[batch + 1] - p[batch]; not at positions of keys |
    | `q_offsets(%o : tensor<?xi32>)` | always; `bottom_right` of the other forms takes its q_len |
    | `prefix(%n : tensor<?xi32>)` | k <= q or k < n[batch] |
    | `documents(%ids : tensor<?x?xi32>)` | ids[batch, q] == ids[batch, k] |
    | `documents(%a, %b : tensor<?x?xi32>, tensor<?x?xi32>)` | a[batch, q] == b[batch, k] |
    | `block(S)` | q / S == k / S |
    | `tensor(%m : tensor<1x?x?x?xi1>)` | m[0, head, q, k] |

    kv_len and q_len are those of the score. With `q_offsets` or `kv_offsets`, the offsets of packed
    rows, they are those of each sequence: q_len is o[batch + 1] - o[batch] of `q_offsets`, kv_len
    p[batch + 1] - p[batch] of `kv_offsets`, or else n[batch] of `kv_lengths`.

    Lengths, offsets and document ids are i32 or i64. The tensor of `tensor` broadcasts
    as in numpy: it has rank 1 to 4, aligned at k, and a static size of 1 is
    read at index 0.

    `positions(%q_positions, %k_positions : …)` before these forms says where rows and keys lie in their
    sequence: q and k of the table are those positions, so that a shard of a sequence computes what it
    would in the whole. With one tensor, `positions(%q_positions : …)`, keys lie at k: rows behind those of
    a cache. Each is a tensor of i32 or i64, of rank

    | rank | position of row q; that of key k likewise |
    |---|---|
    | 0 | q + q_positions: a part of one sequence |
    | 1 | q + q_positions[batch]: a part of each sequence; or several parts of one sequence, as a batch |
    | 2 | q_positions[batch, q]: any rows |

    Starts (rank 0 and 1) bound the keys of a query block in the kernels of all targets. Among positions of
    rank 2, a prefill kernel on a CPU looks for the visible keys before it computes scores; other kernels skip none.

    All these forms are printed as a region.

    - (C1) the region takes four `index` values and yields `i1`.

    ```mlir
    %m = attn.mask %s causal(top_left) kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
    %p = attn.mask %s positions(%q_start, %k_start : tensor<?xi32>, tensor<?xi32>) causal(top_left) : tensor<?x8x?x?xf32>
    %w = attn.mask %s {
    ^bb0(%batch: index, %head: index, %q: index, %k: index):
      %c = arith.cmpi sle, %k, %q : index
      attn.yield %c : i1
    } : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$score);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = "$score custom<MaskBody>($body, attr-dict, ref($score), type($score))";
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_SoftmaxOp : Attn_GraphOp<"softmax", ["getSizeConstraints", "isDecomposed"], [Pure, AllTypesMatch<["score", "prob"]>]> {
  let summary = "Computes softmax along one axis";
  let description = [{
    The `attn.softmax` operation computes, along `axis` (the last one when left
    out; negative counts from the end),

      prob = exp(score - max) / Σ exp(score - max)

    The prob of a score of -inf (a masked key) is 0, whatever the other scores are. A prob below the
    smallest normal f32, 2^-126, may be flushed to 0. Any rank.

    A `sink` (attention sink) is the score of an additional key of each row, without a value: it
    adds exp(sink - max) to the sum and has no prob of its own.

    - (C1) axis is within the rank.
    - (C2) a sink has the score's element type, and the score rank 4 and its last axis.
    - (C3) each size of a sink is 1 or that of batch, num_q_heads and q_len.

    ```mlir
    %p = attn.softmax %s : tensor<?x8x?x?xf32>
    %p1 = attn.softmax %x axis(1) : tensor<4x16xf32>
    %p2 = attn.softmax %s sink(%of_head : tensor<1x8x1xf32>) : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$score, Optional<Attn_Sink>:$sink,
      DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Attn_Tensor:$prob);
  let assemblyFormat = [{
    $score (`sink` `(` $sink^ `:` type($sink) `)`)? (`axis` `(` $axis^ `)`)? attr-dict
    `:` type($score)
  }];
  let hasVerifier = 1;
}

def Attn_ModifyProbOp : Attn_RegionOp<"modify_prob", [], [AllTypesMatch<["prob", "result"]>]> {
  let summary = "Applies a region to every prob";
  let description = [{
    The `attn.modify_prob` operation replaces each prob by the value that its region yields for
    (prob, batch, head, q, k): dropout, a scale after the softmax. A prob of 0 that would become NaN
    stays 0: a masked key contributes nothing, whatever its prob is multiplied by.

    - (C1) the region takes the prob's element type and four `index` values,
      and yields the element type.

    ```mlir
    %d = attn.modify_prob %p {
    ^bb0(%prob: f32, %batch: index, %head: index, %q: index, %k: index):
      %half = arith.constant 0.5 : f32
      %r = arith.mulf %prob, %half : f32
      attn.yield %r : f32
    } : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$prob);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = "$prob $body attr-dict `:` type($prob)";
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_ContextOp : Attn_GraphOp<"context", ["getSizeConstraints", "getResultSizes", "getFlops"], [Pure]> {
  let summary = "Computes prob·value";
  let description = [{
    The `attn.context` operation computes

      context[b, h, i, d] = Σ_j prob[b, h, i, j] · value[b, h / group, j, d]

    A prob of exactly zero contributes exactly zero, whatever the value holds.

    - (C1) prob, value and context have the same element type.
    - (C2) batch and kv_len of prob and value match.
    - (C3) num_q_heads is a multiple of num_kv_heads.
    - (C4) the context is `[batch, num_q_heads, q_len, value_dim]`.

    ```mlir
    %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$prob, Attn_Tensor4D:$value);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = [{
    $prob `,` $value attr-dict `:` type($prob) `,` type($value)
    custom<ResultType>(type($result), "ContextOp()", ref(type($prob)), ref(type($value)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor prob, SizedTensor value);
  }];
  let hasVerifier = 1;
}

def Attn_AttentionOp : Attn_RegionOp<"attention", ["getResultSizes", "getFlops", "isDecomposed"],
    [AttrSizedOperandSegments]> {
  let summary = "Computes score, mask, softmax and context in one pass";
  let description = [{
    The `attn.attention` operation is the fused form:

      score   = scale · query·keyᵀ              as in `attn.score`
      score   = score_mod(score, b, h, i, j)    as in `attn.modify_score`
      score   = -inf where not mask(b, h, i, j) as in `attn.mask`
      prob    = softmax(score)                  as in `attn.softmax`, `sink` included
      prob    = prob_mod(prob, b, h, i, j)      as in `attn.modify_prob`
      context = prob·value                      as in `attn.context`
      lse     = log Σ_j exp(score[b, h, i, j])  -inf for a row with no visible key

    Each region is optional. `lse` is a second, optional result, without the sink. `schedule` is set
    by `attn-select-schedule`: one kernel per element; a call runs the first one whose `max_q_len`
    is at least its q_len.

    With `pages`, key and value are pools of pages, `[num_pages, num_kv_heads, page_size, head_dim]`,
    and the keys and values of a sequence are those that `attn.gather_pages` gathers from them with
    the same table, `page_offsets` as its offsets, and `lengths`: kv_len is max_pages · page_size.
    Kernels read them in their pages.

    Key and value may have narrower elements than the query: kernels widen them as they read them,
    as `attn.dequantize` does with `key_scales` and `value_scales`. With pages, those are pools, too.

    With `offsets`, the query holds the packed rows of a batch of sequences of different lengths,
    `[1, num_q_heads, total, head_dim]`, and so do context and lse: row i of sequence b, at
    offsets[b] + i, is row i of batch b to the regions, as if `attn.unpack_rows` had unpacked the
    query and `attn.pack_rows` packed the results. With `kv_offsets`, key and value hold packed rows
    in the same way, `[1, num_kv_heads, total, head_dim]`: kv_len is their number. Each kernel of
    the schedule then computes the sequences whose own q_len it serves.

    - (C1) query and context have the same element type; those of key and value are the same or
      have fewer bits.
    - (C2) batch of query, key and value, head_dim of query and key, and
      num_kv_heads and kv_len of key and value match; with pages, batch of query, pages and
      lengths, and page_size of key and value. Offsets have one element more than batch. num_kv_heads
      is a multiple of the head groups of pages.
      Scales have the sizes of what they scale but the last, as in `attn.dequantize`.
    - (C3) num_q_heads is a multiple of num_kv_heads.
    - (C4) the context is `[batch, num_q_heads, q_len, value_dim]`, the lse
      `[batch, num_q_heads, q_len]`.
    - (C5) each region takes and yields the types of the corresponding op's region.
    - (C6) each schedule but the last has a larger `max_q_len` than the one before;
      the last has none.
    - (C7) the `packed_heads` of a `#attn.prefill` or `#attn.decode` divide num_q_heads /
      num_kv_heads, and are 1 if that is not static; the `vector_width` of a `#attn.decode` divides
      head_dim, and packed_heads times its `interleaved_heads` num_q_heads.
    - (C8) the `packed_heads` of a `#attn.gpu` or `#attn.mma` do the same; the columns of its threads hold a
      row of the context, whose size is static.
    - (C9) a sink has the query's element type and sizes as in `attn.softmax`.
    - (C10) the `kv_splits` of a schedule are 1 if there is a prob region, which may depend on
      NaN in a single split.
    - (C11) lengths come with pages, and page_offsets with pages of rank 1.
    - (C12) a page has at least one key.
    - (C13) the scale is finite in f32, or f64 for f64 tensors.
    - (C14) a `#attn.mma` or `#attn.wgmma` is of an op that tensor cores compute, and its tiles fit into
      shared memory.
    - (C15) the `products` of a schedule are `bf16_pairs` or `bf16_tiles` only for query, key and value of
      bf16 without scales and with an even head_dim.
    - (C16) scales are those of a narrower key or value.
    - (C17) with offsets, the query's own batch is 1; with kv_offsets, key's and value's.
    - (C18) kv_offsets come without pages and scales, and with keys and values of floats.

    ```mlir
    %c = attn.attention %q, %k, %v scale(0.125) mask {
    ^bb0(%batch: index, %head: index, %qi: index, %ki: index):
      %m = arith.cmpi sle, %ki, %qi : index
      attn.yield %m : i1
    } : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
    %d = attn.attention %q, %pool, %pool pages(%table : tensor<?x?xi32>)
        : tensor<?x8x?x64xf32>, tensor<?x8x16x64xf32>, tensor<?x8x16x64xf32> -> tensor<?x8x?x64xf32>
    %e = attn.attention %r, %pool, %pool pages(%table : tensor<?x?xi32>) offsets(%o : tensor<?xi32>)
        : tensor<1x8x?x64xf32>, tensor<?x8x16x64xf32>, tensor<?x8x16x64xf32> -> tensor<1x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$query, Attn_Stored4D:$key, Attn_Stored4D:$value,
      Optional<Attn_Scales>:$key_scales, Optional<Attn_Scales>:$value_scales,
      Optional<Attn_Sink>:$sink, Optional<Attn_PageLists>:$pages,
      Optional<Attn_Offsets>:$page_offsets, Optional<Attn_Lengths>:$lengths,
      Optional<Attn_Offsets>:$offsets, Optional<Attn_Offsets>:$kv_offsets,
      DefaultValuedAttr<F64Attr, "1.0">:$scale, OptionalAttr<Attn_Schedules>:$schedule);
  let regions = (region MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$mask,
      MaxSizedRegion<1>:$prob_mod);
  let results = (outs Attn_Tensor4D:$result,
      Optional<Attn_Lse>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`scale` `(` $scale^ `)`)?
    (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)?
    (`value_scales` `(` $value_scales^ `:` type($value_scales) `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`page_offsets` `(` $page_offsets^ `:` type($page_offsets) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`kv_offsets` `(` $kv_offsets^ `:` type($kv_offsets) `)`)?
    (`score_mod` $score_mod^)? (`mask` $mask^)? (`prob_mod` $prob_mod^)?
    (`schedule` `(` $schedule^ `)`)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result) (`,` type($lse)^)?
  }];
  let builders = [
    // Optional operands and regions are set afterwards: `getSinkMutable().assign(sink)`.
    OpBuilder<(ins "::mlir::Type":$context, "::mlir::Type":$lse, "::mlir::Value":$query,
        "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::FloatAttr":$scale), [{
      build($_builder, $_state, context, lse, query, key, value, /*key_scales=*/::mlir::Value(),
            /*value_scales=*/::mlir::Value(), /*sink=*/::mlir::Value(), /*pages=*/::mlir::Value(),
            /*page_offsets=*/::mlir::Value(), /*lengths=*/::mlir::Value(),
            /*offsets=*/::mlir::Value(), /*kv_offsets=*/::mlir::Value(), scale, /*schedule=*/::mlir::ArrayAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// The number of keys that the regions' k counts, wherever they are in memory.
    ::mlir::attn::ResultSize getKvLen();
    /// Query heads per key/value head; none if it is dynamic.
    std::optional<int64_t> getGroupSize();
    /// Key, value and their scales.
    SmallVector<OpOperand *, 4> getStoredOperands();
    SmallVector<Value, 4> getStored();
    /// Whether elements of key or value are not the query's, or scaled.
    bool isWidened();
    /// The largest q_len that a kernel before the one of this `max_q_len` serves; 0 if it is the
    /// first.
    int64_t getServedBefore(int64_t maxQLen);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Attn_LinearOp : Attn_GraphOp<"linear", ["getSizeConstraints", "getResultSizes", "getFlops", "isDecomposed"], [Pure]> {
  let summary = "Computes x·weightᵀ + bias";
  let description = [{
    The `attn.linear` operation computes, over the last dimension of `input`,

      result[…, n] = Σ_k input[…, k] · weight[n, k] + bias[n]

    `weight` is `[out_features, in_features]`; the bias is optional. `schedule` is set by
    `attn-select-schedule` for CPUs and for a GPU's tensor cores, one kernel per element: a call runs
    the first one whose `max_rows` admits its rows. Without it, the conversion chooses kernels.

    Of i8, the input is read as 0 to 255, the weight as -128 to 127, and sums are exact in i32, as
    quantized models and `vpdpbusd` multiply. On a GPU such a layer is not tiled.

    - (C1) input, weight, bias and result have the same element type; or input and weight are i8, the
      result i32, there is no bias, and in_features is known and at most 65,536.
    - (C2) weight has rank 2 and its in_features match input's last dimension.
    - (C3) bias has rank 1 and out_features elements.
    - (C4) the result is input's shape with out_features last.
    - (C5) schedules are of linear layers, and tensor cores compute the op if they ask for them; each but
      the last has a larger `max_rows` than the one before, the last none.
    - (C6) `#attn.linear` schedules agree in vectors, vector_width and products, as kernels share packed
      weights; `bf16_pairs` and `bf16_tiles` take bf16 and at most 65,536 in_features.

    ```mlir
    %y = attn.linear %x, %w, %b : tensor<?x?x384xf32>, tensor<1152x384xf32>, tensor<1152xf32> -> tensor<?x?x1152xf32>
    %z = attn.linear %x, %w : tensor<?x?x384xf32>, tensor<1152x384xf32> -> tensor<?x?x1152xf32>
    %s = attn.linear %x8, %w8 : tensor<?x384xi8>, tensor<1152x384xi8> -> tensor<?x1152xi32>
    ```
  }];
  let arguments = (ins Attn_Factor:$input, Attn_Factor:$weight, Optional<Attn_Tensor>:$bias,
      OptionalAttr<Attn_Schedules>:$schedule);
  let results = (outs Attn_Product:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? (`schedule` `(` $schedule^ `)`)? attr-dict
    `:` type($input) `,` type($weight) (`,` type($bias)^)?
    custom<ResultType>(type($result), "LinearOp()", ref(type($input)), ref(type($weight)))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$weight,
        "::mlir::Value":$bias), [{
      build($_builder, $_state, result, input, weight, bias, /*schedule=*/::mlir::ArrayAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor input, SizedTensor weight);
    /// Sums of so many products of i8 don't overflow.
    static constexpr int64_t kMostIntegerFeatures = 65536;
    /// Whether it multiplies i8.
    bool isInteger();
  }];
  let hasVerifier = 1;
}

def Attn_MatmulOp : Attn_GraphOp<"matmul", ["getSizeConstraints", "getResultSizes", "getFlops"], [Pure]> {
  let summary = "Multiplies matrices";
  let description = [{
    The `attn.matmul` operation multiplies the matrices in the last two dimensions of its operands,

      result[…, i, j] = Σ_k left[…, i, k] · right[…, k, j]

    without meaning for attention: `attn-raise` finds scores, contexts and linear layers among
    products. Batch dimensions broadcast as in numpy: they are right-aligned; missing ones and
    static sizes of 1 are repeated. A dynamic size is never repeated: it must equal the result's
    when the kernel is called. NaN and Inf propagate, also if multiplied by zero.

    - (C1) left, right and result have the same element type.
    - (C2) left and right have rank 2 or more.
    - (C3) left's columns match right's rows.
    - (C4) aligned batch dimensions are equal or 1.
    - (C5) the result has the broadcast batch dimensions, then left's rows and right's columns.

    ```mlir
    %s = attn.matmul %q, %kt : tensor<?x8x?x64xf32>, tensor<?x8x64x?xf32> -> tensor<?x8x?x?xf32>
    %y = attn.matmul %x, %w : tensor<?x?x384xf32>, tensor<384x1152xf32> -> tensor<?x?x1152xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$left, Attn_Tensor:$right);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $left `,` $right attr-dict `:` type($left) `,` type($right)
    custom<ResultType>(type($result), "MatmulOp()", ref(type($left)), ref(type($right)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor left, SizedTensor right);
  }];
  let hasVerifier = 1;
}

def Attn_SplitHeadsOp : Attn_GraphOp<"split_heads", ["getResultSizes"], [Pure]> {
  let summary = "Splits the feature dimension into heads";
  let description = [{
    The `attn.split_heads` operation turns `[batch, len, num_heads · head_dim]`
    (`batch_first`, the default) or `[len, batch, num_heads · head_dim]`
    (`time_first`) into `[batch, num_heads, len, head_dim]`.

    - (C1) input and result have the same element type.
    - (C2) num_heads is positive and divides the input's width.
    - (C3) the result is `[batch, num_heads, len, width / num_heads]`.

    ```mlir
    %h = attn.split_heads %x num_heads(12) : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[F16, BF16, F32, F64], [3]>:$input, I64Attr:$num_heads,
      DefaultValuedAttr<Attn_Layout, "Layout::batch_first">:$layout);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = [{
    $input `num_heads` `(` $num_heads `)` (`layout` `(` $layout^ `)`)? attr-dict
    `:` type($input)
    custom<ResultType>(type($result), "SplitHeadsOp()", ref(type($input)), ref($num_heads), ref($layout))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor input, IntegerAttr numHeads,
                                             LayoutAttr layout);
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_MergeHeadsOp : Attn_GraphOp<"merge_heads", ["getResultSizes"], [Pure]> {
  let summary = "Concatenates heads along the feature dimension";
  let description = [{
    The `attn.merge_heads` operation is the inverse of `attn.split_heads`:
    `[batch, num_heads, len, head_dim]` becomes `[batch, len, num_heads ·
    head_dim]` (`batch_first`, the default) or `[len, batch, num_heads ·
    head_dim]` (`time_first`).

    - (C1) input and result have the same element type.
    - (C2) the result has the sizes named above.

    ```mlir
    %x = attn.merge_heads %h : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$input,
      DefaultValuedAttr<Attn_Layout, "Layout::batch_first">:$layout);
  let results = (outs TensorRankOf<[F16, BF16, F32, F64], [3]>:$result);
  let assemblyFormat = [{
    $input (`layout` `(` $layout^ `)`)? attr-dict `:` type($input)
    custom<ResultType>(type($result), "MergeHeadsOp()", ref(type($input)), ref($layout))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor heads, LayoutAttr layout);
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_LseOp : Attn_GraphOp<"lse", ["getResultSizes"], [Pure]> {
  let summary = "Computes the log-sum-exp of every row";
  let description = [{
    The `attn.lse` operation computes, over the last dimension of `score`,

      lse[…] = log Σ_j exp(score[…, j])

    which is -inf if every score of a row is -inf. Any rank above 0; the result may have another
    float type.

    - (C1) score has rank 1 or more.
    - (C2) the result is score's shape without the last dimension.

    ```mlir
    %l = attn.lse %s : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$score);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $score attr-dict `:` type($score) custom<ResultType>(type($result), "LseOp()", ref(type($score)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor score);
  }];
  let hasVerifier = 1;
}

def Attn_MergeOp : Attn_GraphOp<"merge", ["getSizeConstraints", "getResultSizes"],
    [Pure, AllTypesMatch<["context_a", "context_b", "context"]>, AllTypesMatch<["lse_a", "lse_b", "lse"]>]> {
  let summary = "Merges contexts and lse's of two sets of keys";
  let description = [{
    The `attn.merge` operation computes the context and lse of rows over a set of keys from those over
    two disjoint parts of it, a and b:

      max     = max(lse_a, lse_b)
      sum     = exp(lse_a - max) + exp(lse_b - max)
      context = (exp(lse_a - max) · context_a + exp(lse_b - max) · context_b) / sum
      lse     = max + log(sum)

    So keys may be computed in parts, in one call or several, on one machine or several. The
    operation is commutative, bit for bit on a CPU, and associative but for rounding; lse -inf is
    its neutral element:

    | lse_a | lse_b | context | lse |
    |---|---|---|---|
    | -inf | -inf | 0 | -inf |
    | any | -inf | context_a, bit for bit | lse_a, bit for bit |
    | -inf | any | context_b, bit for bit | lse_b, bit for bit |
    | NaN | not -inf | NaN | NaN |
    | inf | neither NaN nor -inf | NaN | inf |

    A context whose factor exp(lse - max) is 0 contributes exactly zero, whatever it holds; factors below
    the smallest normal f32 may be flushed to 0. Each merge rounds to the types of its operands: keep
    lse's in f32, and contexts too if many parts are merged.

    An attention sink is no key: it is merged as a part of its own, with context 0 and the sink as
    lse, once.

    - (C1) the contexts have one type, the lse's another one.
    - (C2) batch, num_q_heads and q_len of contexts and lse's match.

    ```mlir
    %c, %l = attn.merge %c0, %l0, %c1, %l1 : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
    %d, %m = attn.merge %c2, %l0, %c3, %l1 : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4D:$context_a, Attn_Lse:$lse_a, Attn_Tensor4D:$context_b, Attn_Lse:$lse_b);
  let results = (outs Attn_Tensor4D:$context, Attn_Lse:$lse);
  let assemblyFormat = [{
    $context_a `,` $lse_a `,` $context_b `,` $lse_b attr-dict `:` type($context_a) `,` type($lse_a)
  }];
  let hasVerifier = 1;
}

/// Ops that all ranks take part in: not Pure, as each rank executes them as often, in one order.
class Attn_ExchangeOp<string mnemonic, list<Trait> traits = []> : Attn_GraphOp<mnemonic, ["getResultSizes"],
    !listconcat(traits, [SingleBlock])>;

def Attn_PlacesOp : Attn_GraphOp<"places", ["getResultSizes"], [Pure]> {
  let summary = "Returns where in a sequence the shard of this process lies";
  let description = [{
    The `attn.places` operation returns numbers of a sequence of which each rank has `rows` rows, as many as
    it passes:

    | element | |
    |---|---|
    | 0 | `rows` |
    | 1 | the most rows of a rank |
    | 2 | the rows of all ranks |
    | 3, 4, 5 | rows i < [3] are at the places [4] + [5]·i |
    | 6 | the others at [6] + i - [3] |
    | 7… | the rows of each rank |

    Without an exchange the call has the whole sequence. A call ends with a status if a message fails, on all
    ranks if a `striped` sequence has other numbers of rows than stripes have.

    ```mlir
    %of = attn.places %len layout(zigzag) : tensor<?xi32>
    ```
  }];
  let arguments = (ins Index:$rows, Attn_ShardLayout:$layout);
  let results = (outs TensorRankOf<[I32], [1]>:$result);
  let assemblyFormat = "$rows `layout` `(` $layout `)` attr-dict `:` type($result)";
  let extraClassDefinition = "";
}

def Attn_RingOp : Attn_ExchangeOp<"ring", [AttrSizedOperandSegments,
    RangedTypesMatchWith<"results have the types of the inits", "inits", "results", "$_self">]> {
  let summary = "Sends blocks around all ranks and computes on each of them";
  let description = [{
    The `attn.ring` operation executes its region once for each rank's blocks: first for its own, then
    for those of the rank before it, and so on. The next blocks are on their way meanwhile. What the
    region yields are its last arguments the next time, and, in the end, the results:

      carried = init
      for owner = rank, rank - 1, … (modulo ranks):
        carried = region(blocks of owner, carried)

    The region reads tensors from outside, too; those stay. A call ends with a status if a message
    fails, or on all ranks if sizes of blocks differ between them. Runs on CPUs.

    - (C1) the region takes the types of blocks and inits, and yields those of the inits, which are
      the results'.

    ```mlir
    %c, %l = attn.ring %k, %v init(%c0, %l0) {
    ^bb0(%key: tensor<?x2x?x64xf32>, %value: tensor<?x2x?x64xf32>, %cs: tensor<?x8x?x64xf32>, %ls: tensor<?x8x?xf32>):
      %cp, %lp = attn.attention %q, %key, %value : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
      %cm, %lm = attn.merge %cs, %ls, %cp, %lp : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
      attn.yield %cm, %lm : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
    } : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
    ```
  }];
  let arguments = (ins Variadic<Attn_AnyTensor>:$blocks, Variadic<Attn_AnyTensor>:$inits);
  let results = (outs Variadic<Attn_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $blocks `init` `(` $inits `)` $body attr-dict `:` type($blocks) `->` type($inits)
  }];
  let hasRegionVerifier = 1;
}

def Attn_AllGatherOp : Attn_GraphOp<"all_gather", ["getResultSizes"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "Returns the rows of all ranks, or those near the rank's own, in the sequence's order";
  let description = [{
    The `attn.all_gather` operation returns the rows, along a dimension, of all ranks in the order of
    `places`. With `halo [before, after]` it returns those from `before` places ahead of the rank's first row to
    `after` places behind its last one, as far as the sequence goes, and no other is sent; the layout is then
    `blocks`.

    `count` is the number of these rows. A call ends with a status if a message fails, or on all ranks if sizes
    of other dimensions differ between them. Runs on CPUs.

    - (C1) the dimension is a dynamic one of the input.
    - (C2) halo has two numbers, at least 0, and the layout `blocks`.

    ```mlir
    %all = attn.all_gather %key of %places layout(zigzag) along 2 to %count : tensor<?x2x?x64xf32>, tensor<?xi32>
    %near = attn.all_gather %key of %places layout(blocks) along 2 to %count halo [1023, 0] : tensor<?x2x?x64xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Attn_AnyTensor:$input, TensorRankOf<[I32], [1]>:$places, Attn_ShardLayout:$layout,
      I64Attr:$dim, Index:$count, OptionalAttr<DenseI64ArrayAttr>:$halo);
  let results = (outs Attn_AnyTensor:$result);
  let assemblyFormat = [{
    $input `of` $places `layout` `(` $layout `)` `along` $dim `to` $count (`halo` $halo^)? attr-dict
    `:` type($input) `,` type($places)
  }];
  let extraClassDefinition = "";
  let hasVerifier = 1;
}

def Attn_AllReduceOp : Attn_ExchangeOp<"all_reduce",
    [RangedTypesMatchWith<"results have the types of the inputs", "inputs", "results", "$_self">]> {
  let summary = "Combines tensors of all ranks";
  let description = [{
    The `attn.all_reduce` operation combines each rank's tensors, two ranks' at a time, by its region,
    which takes those of one and of the other. All ranks get the same bits if the region is commutative,
    bit for bit, as `attn.merge` is; it need not be associative. log2(ranks) messages follow each other.

    A call ends with a status if a message fails. Runs on CPUs.

    - (C1) the region takes the operands' types twice and yields them, the results'.

    ```mlir
    %c, %l = attn.all_reduce %c0, %l0 {
    ^bb0(%ca: tensor<?x8x1x64xf32>, %la: tensor<?x8x1xf32>, %cb: tensor<?x8x1x64xf32>, %lb: tensor<?x8x1xf32>):
      %cm, %lm = attn.merge %ca, %la, %cb, %lb : tensor<?x8x1x64xf32>, tensor<?x8x1xf32>
      attn.yield %cm, %lm : tensor<?x8x1x64xf32>, tensor<?x8x1xf32>
    } : tensor<?x8x1x64xf32>, tensor<?x8x1xf32>
    ```
  }];
  let arguments = (ins Variadic<Attn_AnyTensor>:$inputs);
  let results = (outs Variadic<Attn_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs $body attr-dict `:` type($inputs)";
  let hasRegionVerifier = 1;
}

def Attn_MapOp : Attn_GraphOp<"map", ["getSizeConstraints", "getResultSizes"], [Pure]> {
  let summary = "Applies a region to every element";
  let description = [{
    The `attn.map` operation computes each element of its result by a region over the elements of
    its operands: an activation, a sum, a comparison, a selection. The region may contain any
    `arith` and `math` op on scalars and read captured tensors with `tensor.extract`.

    Operands broadcast as in numpy: shapes are right-aligned; missing leading dimensions and static
    sizes of 1 are repeated. A dynamic size is never repeated: it must equal the result's when the
    kernel is called.

    - (C1) the region takes one scalar of each operand's element type and yields
      the result's element type; there is at least one operand.
    - (C2) aligned sizes of operands are equal or 1.
    - (C3) the result has the broadcast sizes.

    ```mlir
    %r = attn.map %x, %bias {
    ^bb0(%a: f32, %b: f32):
      %zero = arith.constant 0.0 : f32
      %sum = arith.addf %a, %b : f32
      %relu = arith.maximumf %sum, %zero : f32
      attn.yield %relu : f32
    } : tensor<?x?x1536xf32>, tensor<1536xf32> -> tensor<?x?x1536xf32>
    ```
  }];
  let arguments = (ins Variadic<Attn_AnyTensor>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Attn_AnyTensor:$result);
  let assemblyFormat = [{
    $inputs $body attr-dict `:` type($inputs)
    custom<MapType>(type($result), ref(type($inputs)), ref($body))
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Attn_ReduceOp : Attn_GraphOp<"reduce", ["getResultSizes"], [Pure]> {
  let summary = "Reduces over axes";
  let description = [{
    The `attn.reduce` operation reduces over `axes` (negative ones count from the end):

    | kind | result | empty reduction |
    |---|---|---|
    | `sum` | Σ x | 0 |
    | `mean` | Σ x / count | NaN |
    | `max`, `min` | the largest, smallest; NaN if one is NaN | -inf, inf; of integers the least, the greatest value |
    | `prod` | Π x | 1 |
    | `l2` | sqrt(Σ x²) | 0 |

    With `keep_dims` the reduced axes keep size 1, otherwise they are dropped. Sums and products of
    floats are accumulated in f64; integers wrap around.

    - (C1) input and result have the same element type: not `i1`, and a
      float for `mean` and `l2`.
    - (C2) axes are within the rank, each at most once.
    - (C3) the result is input's shape without the axes, or with 1 there.

    ```mlir
    %m = attn.reduce mean %x axes [-1] keep_dims : tensor<?x?x384xf32> -> tensor<?x?x1xf32>
    %s = attn.reduce sum %x axes [0, 1] : tensor<?x?x384xf32> -> tensor<384xf32>
    ```
  }];
  let arguments = (ins Attn_ReduceKind:$kind, Attn_AnyTensor:$input, DenseI64ArrayAttr:$axes,
      UnitAttr:$keep_dims);
  let results = (outs Attn_AnyTensor:$result);
  let assemblyFormat = [{
    $kind $input `axes` custom<ReduceAxes>($axes, $keep_dims) attr-dict
    `:` type($input)
    custom<ResultType>(type($result), "ReduceOp()", ref(type($input)), ref($axes), ref($keep_dims))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor input, ArrayRef<int64_t> axes,
                                             UnitAttr keepDims);
    /// For each dimension of the input whether it is one of the axes.
    SmallVector<bool> getReducedDims();
  }];
  let hasVerifier = 1;
}

def Attn_TransposeOp : Attn_GraphOp<"transpose", ["getResultSizes"], [Pure]> {
  let summary = "Permutes dimensions";
  let description = [{
    The `attn.transpose` operation permutes dimensions: dimension i of the result is the input's
    dimension `permutation[i]`.

    - (C1) input and result have the same element type.
    - (C2) permutation holds each dimension of the input once.
    - (C3) the result's sizes are the input's, permuted.

    ```mlir
    %t = attn.transpose %x [1, 0, 2] : tensor<?x?x384xf32> -> tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins Attn_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Attn_AnyTensor:$result);
  let assemblyFormat = [{
    $input $permutation attr-dict `:` type($input)
    custom<ResultType>(type($result), "TransposeOp()", ref(type($input)), ref($permutation))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor input,
                                             ArrayRef<int64_t> permutation);
    /// Whether the last dimension stays last.
    bool keepsRows();
  }];
  let hasVerifier = 1;
}

def Attn_LayerNormOp : Attn_GraphOp<"layer_norm", ["getSizeConstraints"],
    [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>]> {
  let summary = "Applies LayerNorm or RMSNorm";
  let description = [{
    The `attn.layer_norm` operation normalises along the last dimension. `layer`,
    the default:

      mean     = Σ_k input[…, k] / width
      variance = Σ_k (input[…, k] - mean)² / width
      result[…, n] = (input[…, n] - mean) / sqrt(variance + epsilon) · scale[n] + bias[n]

    `rms` (https://arxiv.org/abs/1910.07467):

      square = Σ_k input[…, k]² / width
      result[…, n] = input[…, n] / sqrt(square + epsilon) · scale[n] + bias[n]

    scale and bias are optional.

    - (C1) input has rank 1 or more.
    - (C2) scale and bias have the input's element type.
    - (C3) scale and bias have rank 1 and the input's width.
    - (C4) epsilon is not negative.

    ```mlir
    %y = attn.layer_norm %x scale(%s : tensor<384xf32>) bias(%b : tensor<384xf32>) epsilon(1.0e-12) : tensor<?x?x384xf32>
    %z = attn.layer_norm %x mode(rms) scale(%s : tensor<384xf32>) epsilon(1.0e-6) : tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$input, DefaultValuedAttr<Attn_NormMode, "NormMode::layer">:$mode,
      Optional<Attn_Tensor>:$scale, Optional<Attn_Tensor>:$bias, F64Attr:$epsilon);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input (`mode` `(` $mode^ `)`)? (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)? `epsilon` `(` $epsilon `)` attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def Attn_EmbeddingOp : Attn_GraphOp<"embedding", ["getResultSizes"], [Pure]> {
  let summary = "Looks up embedding rows by id";
  let description = [{
    The `attn.embedding` operation reads a row of `table` for every id:

      result[…, d] = table[ids[…], d]

    Ids are i32 or i64. An id outside of the table is an error when the kernel is called.

    - (C1) table has rank 2; table and result have the same element type.
    - (C2) the result is ids' shape with the table's width last.

    ```mlir
    %e = attn.embedding %table, %ids : tensor<30522x384xf32>, tensor<?x?xi64> -> tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$table, RankedTensorOf<[I32, I64]>:$ids);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $ids attr-dict `:` type($table) `,` type($ids)
    custom<ResultType>(type($result), "EmbeddingOp()", ref(type($table)), ref(type($ids)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor table, SizedTensor ids);
  }];
  let hasVerifier = 1;
}

def Attn_PositionsOp : Attn_GraphOp<"positions", ["getSizeConstraints"], [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Applies sinusoidal or rotary position embeddings";
  let description = [{
    The `attn.positions` operation works on rows `input[…, t, :]` of width D. The position is p = t,
    plus `offset[b]` if there is an offset, where b is the index in dimension 0; the angle is
    a(p, e) = p / base^e:

    | kind | result[…, t, c] |
    |---|---|
    | `sinusoidal` | input + sin a(p, 2i/D) for c = 2i, + cos a(p, 2i/D) for c = 2i + 1 (https://arxiv.org/abs/1706.03762) |
    | `sinusoidal_by_column` | input + sin a(p, c/D) for even c, + cos a(p, c/D) for odd c |
    | `rotary_halves` | the pair (x, y) of columns (i, i + D/2) becomes (x cos a - y sin a, y cos a + x sin a), a = a(p, 2i/D) (https://arxiv.org/abs/2104.09864) |
    | `rotary_pairs` | the same for the pair of columns (2i, 2i + 1) |

    Angles are computed in f64. `base` is 10000 by default.

    - (C1) input has rank 2 or more, and rank 3 or more with an offset.
    - (C2) D is even for the rotary kinds.
    - (C3) offset has rank 1 and the size of dimension 0.
    - (C4) base is positive.

    ```mlir
    %y = attn.positions %x kind(sinusoidal) : tensor<?x?x384xf32>
    %q1 = attn.positions %q kind(rotary_halves) base(5.0e5) offset(%past : tensor<?xi32>) : tensor<?x32x?x128xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_PositionKind:$kind,
      DefaultValuedAttr<F64Attr, "10000.0">:$base, Optional<RankedTensorOf<[I32, I64]>>:$offset);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `kind` `(` $kind `)` (`base` `(` $base^ `)`)? (`offset` `(` $offset^ `:` type($offset) `)`)?
    attr-dict `:` type($input)
  }];
  let extraClassDeclaration = [{
    bool isRotary() { return getKind() >= PositionKind::rotary_halves; }
  }];
  let hasVerifier = 1;
}

def Attn_AppendCacheOp : Attn_GraphOp<"append_cache", ["getSizeConstraints"], [Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "Appends rows to a KV cache";
  let description = [{
    The `attn.append_cache` operation writes `rows` into a cache of keys or values, after the
    first `length[b]` rows of each batch b:

      result[b, h, t, d] = rows[b, h, t - length[b], d]  where 0 <= t - length[b] < rows' length
      result[b, h, t, d] = cache[b, h, t, d]             elsewhere

    A length that is negative or leaves too little room is an error when the kernel is called. If
    cache is an argument without other readers and result is a result of the function, a caller may
    pass the same tensor for both: rows are appended in place.

    - (C1) cache and rows have the same element type.
    - (C2) batch, heads and width of cache and rows match.
    - (C3) length has rank 1 and the size of batch.

    ```mlir
    %c = attn.append_cache %cache, %rows, %length : tensor<?x8x2048x64xf32>, tensor<?x8x?x64xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Attn_Stored4D:$cache, Attn_Stored4D:$rows, RankedTensorOf<[I32, I64]>:$length);
  let results = (outs Attn_Stored4D:$result);
  let assemblyFormat = [{
    $cache `,` $rows `,` $length attr-dict `:` type($cache) `,` type($rows) `,` type($length)
  }];
  let hasVerifier = 1;
}

def Attn_GatherPagesOp : Attn_GraphOp<"gather_pages", ["getSizeConstraints", "getResultSizes"],
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Gathers keys or values of sequences from pages";
  let description = [{
    The `attn.gather_pages` operation reads the keys or values of a batch of sequences from the pages
    of a pool:

      result[b, h, j, d] = pool[page, j mod page_size, h, d]  where page = table[b, j div page_size]

    | operand | sizes |
    |---|---|
    | pool, `keys_first` (the default; FlashInfer's NHD, vLLM's) | `[num_pages, page_size, num_kv_heads, head_dim]` |
    | pool, `heads_first` (HND) | `[num_pages, num_kv_heads, page_size, head_dim]` |
    | table | `[batch, max_pages]` |
    | table of head groups | `[batch, head_groups, max_pages]` |
    | table in CSR, with offsets | `[max_pages]` |
    | offsets | `[batch + 1]` |
    | lengths | `[batch]` |
    | result | `[batch, num_kv_heads, max_pages · page_size, head_dim]` |

    In a table of head groups, the num_kv_heads / head_groups heads of a group have pages of their
    own: page = table[b, h div (num_kv_heads div head_groups), j div page_size]. With a page_size of 1
    it is a list of chosen keys.

    With `offsets`, the table holds the pages of one sequence after those of the other (FlashInfer's
    indices and indptr): page = table[offsets[b] + j div page_size]. Page 0 is read behind a
    sequence's last page. Offsets that do not begin with 0, decrease, or do not end with the size of
    the table are an error when the kernel is called, as is an entry that is no page.
    `attn.page_lengths` computes the lengths of such sequences.

    `lengths` are the numbers of keys of the sequences. Entries of the table whose keys are all at
    or behind lengths[b] are not followed, whatever they hold: page 0 is read in their place. All
    others have to be numbers of pages: anything else is an error when the kernel is called, as is a
    length that is negative or above max_pages · page_size. Rows from lengths[b] on hold what
    their page holds: a mask `kv_lengths` hides them.

    `attn-fuse-attention` lets `attn.attention` read key and value in their pages if both are
    gathered by one table. `attn.append_pages` writes into the pages.

    - (C1) pool and result have the same element type.
    - (C2) batch of table and lengths match.
    - (C3) the result has the sizes of the table above.
    - (C4) a page has at least one key.
    - (C5) a table of rank 1 has offsets and no lengths, others have no offsets.
    - (C6) num_kv_heads is a multiple of head_groups.

    ```mlir
    %k = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x8x64xf32>, tensor<?x?xi32> -> tensor<?x8x?x64xf32>
    %v = attn.gather_pages %heads[%table] layout(heads_first) : tensor<?x8x16x64xf32>, tensor<?x?xi32> -> tensor<?x8x?x64xf32>
    %chosen = attn.gather_pages %slots[%lists] : tensor<?x1x8x64xf32>, tensor<?x2x256xi32> -> tensor<?x8x256x64xf32>
    %csr = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x16x8x64xf32>, tensor<?xi32> -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Stored4D:$pool, Attn_PageLists:$table, Optional<Attn_Offsets>:$offsets,
      Optional<Attn_Lengths>:$lengths,
      DefaultValuedAttr<Attn_PageLayout, "PageLayout::keys_first">:$layout);
  let results = (outs Attn_Stored4D:$result);
  let assemblyFormat = [{
    $pool `[` $table `]` (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`layout` `(` $layout^ `)`)? attr-dict `:` type($pool) `,` type($table)
    custom<ResultType>(type($result), "GatherPagesOp()", ref(type($pool)), ref(type($table)), ref(type($offsets)), ref($layout))
  }];
  let extraClassDeclaration = [{
    /// `offsets` have no type but for a table in CSR.
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor pool, SizedTensor table,
                                             SizedTensor offsets, PageLayoutAttr layout);
    bool isHeadsFirst() { return getLayout() == PageLayout::heads_first; }
    /// The dimension of the pool that counts the keys of a page.
    unsigned getKeyDim() { return isHeadsFirst() ? 2 : 1; }
  }];
  let hasVerifier = 1;
}

def Attn_PageLengthsOp : Attn_GraphOp<"page_lengths", ["getSizeConstraints", "getResultSizes"], [Pure, AllTypesMatch<["last", "result"]>]> {
  let summary = "Counts the keys of sequences in pages";
  let description = [{
    The `attn.page_lengths` operation gives the number of keys of each sequence whose pages are listed
    in CSR, as in `attn.gather_pages`, and whose last page holds last[b] keys (FlashInfer's
    last_page_len):

      result[b] = (n - 1) · page_size + last[b]  where n = offsets[b + 1] - offsets[b]; 0 if n is 0

    Of the pool only page_size counts. It is an error when the kernel is called if offsets are wrong,
    as in `attn.gather_pages`, or if last[b] is not 1 to page_size where sequence b has pages.

    - (C1) batch of last and offsets match.
    - (C2) a page has at least one key.
    - (C3) the table has rank 1.

    ```mlir
    %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
        : tensor<?x16x8x64xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Attn_Stored4D:$pool, Attn_PageLists:$table, Attn_Offsets:$offsets,
      Attn_Lengths:$last, DefaultValuedAttr<Attn_PageLayout, "PageLayout::keys_first">:$layout);
  let results = (outs Attn_Lengths:$result);
  let assemblyFormat = [{
    $pool `[` $table `]` `offsets` `(` $offsets `:` type($offsets) `)` `last` `(` $last `:` type($last) `)`
    (`layout` `(` $layout^ `)`)? attr-dict `:` type($pool) `,` type($table)
  }];
  let extraClassDeclaration = [{
    /// The dimension of the pool that counts the keys of a page.
    unsigned getKeyDim() { return getLayout() == PageLayout::heads_first ? 2 : 1; }
  }];
  let hasVerifier = 1;
}

def Attn_AppendPagesOp : Attn_GraphOp<"append_pages", ["getSizeConstraints"],
    [Pure, AttrSizedOperandSegments, AllTypesMatch<["pool", "result"]>]> {
  let summary = "Appends rows to keys or values in pages";
  let description = [{
    The `attn.append_pages` operation writes `rows` into the pages of a pool, after the first
    `length[b]` keys of each sequence b:

      result[page, j mod page_size, h, d] = rows[b, h, j - length[b], d]
          where page = table[b, j div page_size] and 0 <= j - length[b] < counts[b]
      result[page, row, h, d] = pool[page, row, h, d]   elsewhere

    Pool, table, `offsets` and `layout` are those of `attn.gather_pages`, but for tables of head
    groups; with offsets page = table[offsets[b] + j div page_size]. Rows are
    `[batch, num_kv_heads, new_len, head_dim]`. `counts` are the numbers of rows that the sequences
    append, all of them without: sequences of a batch may append more rows than others, or none.

    With `row_offsets`, rows of all sequences lie behind each other, `[1, num_kv_heads, total,
    head_dim]`: sequence b appends the rows row_offsets[b] to row_offsets[b + 1] - 1.

    If the pool is an argument without other readers and result is a result of the function, a
    caller may pass the same tensor for both. The rows are then written in place, and nothing else of
    the pool is read or written; otherwise the pool is copied.

    Entries of the table in whose pages no row is written are not followed, whatever they hold. When
    the kernel is called, it is an error if

    - a count is negative or above new_len,
    - a length is negative, or leaves too little room in max_pages · page_size keys, or, with
      offsets, in (offsets[b + 1] - offsets[b]) · page_size keys,
    - offsets are wrong, as in `attn.gather_pages`, or row_offsets, as in `attn.unpack_rows`,
    - an entry that is followed is no page of the pool,
    - rows of two entries, of one sequence or of two, are appended to one page.

    - (C1) pool and rows have the same element type.
    - (C2) batch of table, or offsets, rows, or row_offsets, length and counts match; num_kv_heads
      and head_dim of pool and rows match.
    - (C3) a page has at least one key.
    - (C4) a table of rank 1 has offsets, one of rank 2 has none.
    - (C5) with row_offsets, rows have a batch of 1, and there are no counts.

    ```mlir
    %k = attn.append_pages %pool[%table], %rows, %length : tensor<?x16x8x64xf32>, tensor<?x?xi32>, tensor<?x8x?x64xf32>, tensor<?xi32>
    %v = attn.append_pages %heads[%table], %rows, %length counts(%n : tensor<?xi32>) layout(heads_first) : tensor<?x8x16x64xf32>, tensor<?x?xi32>, tensor<?x8x?x64xf32>, tensor<?xi32>
    %csr = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi32>), %rows, %length : tensor<?x16x8x64xf32>, tensor<?xi32>, tensor<?x8x?x64xf32>, tensor<?xi32>
    %r = attn.append_pages %pool[%table], %packed, %length row_offsets(%o : tensor<?xi32>) : tensor<?x16x8x64xf32>, tensor<?x?xi32>, tensor<1x8x?x64xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Attn_Stored4D:$pool, Attn_PageTable:$table, Optional<Attn_Offsets>:$offsets,
      Attn_Stored4D:$rows, Attn_Lengths:$length, Optional<Attn_Lengths>:$counts,
      Optional<Attn_Offsets>:$row_offsets,
      DefaultValuedAttr<Attn_PageLayout, "PageLayout::keys_first">:$layout);
  let results = (outs Attn_Stored4D:$result);
  let assemblyFormat = [{
    $pool `[` $table `]` (`offsets` `(` $offsets^ `:` type($offsets) `)`)? `,` $rows `,` $length
    (`counts` `(` $counts^ `:` type($counts) `)`)?
    (`row_offsets` `(` $row_offsets^ `:` type($row_offsets) `)`)? (`layout` `(` $layout^ `)`)? attr-dict
    `:` type($pool) `,` type($table) `,` type($rows) `,` type($length)
  }];
  let extraClassDeclaration = [{
    bool isHeadsFirst() { return getLayout() == PageLayout::heads_first; }
    /// The dimension of the pool that counts the keys of a page.
    unsigned getKeyDim() { return isHeadsFirst() ? 2 : 1; }
  }];
  let hasVerifier = 1;
}

def Attn_QuantizeOp : Attn_GraphOp<"quantize", ["getSizeConstraints", "getResultSizes", "isDecomposed"], [Pure]> {
  let summary = "Quantizes rows to 8 bits";
  let description = [{
    The `attn.quantize` operation rounds blocks of each row to i8, or to f8E4M3FN, with a scale for
    each block:

      scales[…, n] = max |input[…, d]| / 127             over the dims d of block n; / 448 for f8E4M3FN
      result[…, d] = round(input[…, d] / scales[…, n])   where n = d div block_size; 0 if that scale is 0

    A row has as many blocks of equal size as scales: one scale for each token and head, or, with 4
    scales for a head_dim of 128, one for every 32 dims (q8_0 of ggml). A scale is rounded to its
    element type before elements are divided by it, in f32; ties are rounded to even. If an element
    of a block is NaN or infinite, its scale is, and the block is 0.

    `attn.append_cache` and `attn.append_pages` append the rows and their scales to those of a cache;
    `attn.dequantize` is the inverse.

    - (C1) the input has f16, bf16 or f32 elements.
    - (C2) the result has the sizes of the input, the scales those but the last.
    - (C3) the number of scales of a row is static and positive; if it is not 1, it divides a static
      head_dim.

    ```mlir
    %q, %s = attn.quantize %rows : tensor<?x8x?x128xf32> -> tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>
    %f8, %e = attn.quantize %rows : tensor<?x8x?x128xf32> -> tensor<?x8x?x128xf8E4M3FN>, tensor<?x8x?x1xf32>
    %q8_0, %d = attn.quantize %rows : tensor<?x8x?x128xf32> -> tensor<?x8x?x128xi8>, tensor<?x8x?x4xf16>
    ```
  }];
  let arguments = (ins Attn_Scales:$input);
  let results = (outs TensorRankOf<[I8, F8E4M3FN], [4]>:$result, Attn_Scales:$scales);
  let assemblyFormat = [{
    $input attr-dict `:` type($input) `->` type($result) `,` type($scales)
  }];
  let hasVerifier = 1;
}

def Attn_DequantizeOp : Attn_GraphOp<"dequantize", ["getSizeConstraints", "isDecomposed"], [Pure]> {
  let summary = "Widens keys or values";
  let description = [{
    The `attn.dequantize` operation converts stored keys or values to floats and scales them:

      result[…, d] = input[…, d] · scales[…, d div block_size]

    A row of the input has as many blocks of equal size as the last dimension of `scales` has
    elements: one for each token and head, or one for a block of dims. Without scales elements are
    converted alone. Products are computed in f32, or in f64 for an f64 result. A scale that is NaN
    makes its block NaN, as a stored float would: it matters where its key is visible.

    `attn-fuse-attention` lets `attn.attention` read the stored elements; a kernel then widens them
    as it reads them, and does not round them to the result's type.

    - (C1) elements of the result have more bits than those of the input and are floats.
    - (C2) the result has the sizes of the input, the scales those but the last.
    - (C3) the number of scales of a row is static and positive; if it is not 1, it divides a static
      head_dim.

    ```mlir
    %k = attn.dequantize %cache scales(%s : tensor<?x8x?x1xf32>) : tensor<?x8x?x128xi8> -> tensor<?x8x?x128xf32>
    %v = attn.dequantize %blocks scales(%d : tensor<?x8x?x4xf16>) : tensor<?x8x?x128xi8> -> tensor<?x8x?x128xf32>
    %u = attn.dequantize %f8 scales(%s : tensor<?x8x?x1xf32>) : tensor<?x8x?x128xf8E4M3FN> -> tensor<?x8x?x128xf32>
    %w = attn.dequantize %half : tensor<?x8x?x128xbf16> -> tensor<?x8x?x128xf32>
    ```
  }];
  let arguments = (ins Attn_Stored4D:$input, Optional<Attn_Scales>:$scales);
  let results = (outs Attn_Tensor4D:$result);
  let assemblyFormat = [{
    $input (`scales` `(` $scales^ `:` type($scales) `)`)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_UnpackRowsOp : Attn_GraphOp<"unpack_rows", ["getSizeConstraints", "getResultSizes"], [Pure]> {
  let summary = "Unpacks the rows of sequences of different lengths";
  let description = [{
    The `attn.unpack_rows` operation gives each sequence of a ragged batch a batch of its own:

      result[b, h, i, d] = rows[min(offsets[b] + i, total - 1), h, d]

    | operand | sizes |
    |---|---|
    | rows | `[total, num_heads, head_dim]` |
    | offsets (cu_seqlens, indptr) | `[batch + 1]` |
    | result | `[batch, num_heads, total, head_dim]` |

    Sequence b has the rows offsets[b] to offsets[b + 1] - 1, so q_len of each sequence is at most
    total. Behind its last row, the result holds rows of others: `attn.pack_rows` drops the query
    rows there, a mask `kv_offsets` hides the keys.

    Offsets begin with 0, don't decrease and end with total: others are an error when the kernel is
    called.

    `attn-fuse-attention` lets `attn.attention` compute packed rows alone if queries are unpacked and
    contexts packed by the same offsets, and read packed keys and values in place if they are
    unpacked by the same offsets. What changes each row by itself may stand between
    (`attn.positions`, `attn.layer_norm`, maps): it is computed on packed rows, positions of keys if
    a mask `kv_offsets` hides those of others. `attn.append_pages` takes packed rows, too, if its
    counts are offsets[b + 1] - offsets[b]; of other counts only what changes each row moves to
    packed ones, without positions. Otherwise all of the result is computed.

    - (C1) rows and result have the same element type.
    - (C2) offsets have at least one element.
    - (C3) the result has the sizes of the table above.

    ```mlir
    %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32> -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[F16, BF16, F32, F64, I8, F8E4M3FN], [3]>:$rows, Attn_Offsets:$offsets);
  let results = (outs Attn_Stored4D:$result);
  let assemblyFormat = [{
    $rows `offsets` `(` $offsets `)` attr-dict `:` type($rows) `,` type($offsets)
    custom<ResultType>(type($result), "UnpackRowsOp()", ref(type($rows)), ref(type($offsets)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor rows, SizedTensor offsets);
  }];
  let hasVerifier = 1;
}

def Attn_PackRowsOp : Attn_GraphOp<"pack_rows", ["getSizeConstraints", "getResultSizes"], [Pure]> {
  let summary = "Packs the rows of sequences of different lengths";
  let description = [{
    The `attn.pack_rows` operation is the inverse of `attn.unpack_rows`, for a context or an lse:

      result[offsets[b] + i, h, …] = input[b, h, i, …]   where 0 <= i < offsets[b + 1] - offsets[b]

    input is `[batch, num_heads, total]` or `[batch, num_heads, total, value_dim]`, the result
    `[total, num_heads]` or `[total, num_heads, value_dim]`. Offsets are those of `attn.unpack_rows`.

    - (C1) input and result have the same element type.
    - (C2) offsets have one element more than batch.
    - (C3) the result has the sizes above.

    ```mlir
    %c = attn.pack_rows %context offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32> -> tensor<?x8x64xf32>
    %l = attn.pack_rows %lse offsets(%o) : tensor<?x8x?xf32>, tensor<?xi32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[F16, BF16, F32, F64], [3, 4]>:$input, Attn_Offsets:$offsets);
  let results = (outs TensorRankOf<[F16, BF16, F32, F64], [2, 3]>:$result);
  let assemblyFormat = [{
    $input `offsets` `(` $offsets `)` attr-dict `:` type($input) `,` type($offsets)
    custom<ResultType>(type($result), "PackRowsOp()", ref(type($input)), ref(type($offsets)))
  }];
  let extraClassDeclaration = [{
    static ::llvm::FailureOr<ResultSizes> inferSizes(SizedTensor input, SizedTensor offsets);
  }];
  let hasVerifier = 1;
}

def Attn_DropoutOp : Attn_GraphOp<"dropout", [], [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Applies dropout with a counter-based generator";
  let description = [{
    The `attn.dropout` operation is the identity without a seed (inference). With a seed, the
    element with linear index n (in C order) is 0 if

      philox(n, seed) < rate · 2^32

    and input / (1 - rate) otherwise. philox is the first word of Philox2x32-10 (Salmon et al. 2011,
    https://doi.org/10.1145/2063384.2063405) for the counter (n mod 2^32, n div 2^32 xor
    seed div 2^32) and the key seed mod 2^32. Equal seeds drop equal elements.

    - (C1) rate is at least 0 and below 1.

    ```mlir
    %d = attn.dropout %prob rate(0.1) seed(%seed : tensor<i64>) : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor:$input, F64Attr:$rate, Optional<0DTensorOf<[I64]>>:$seed);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `rate` `(` $rate `)` (`seed` `(` $seed^ `:` type($seed) `)`)? attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["ModifyScoreOp", "MaskOp", "ModifyProbOp", "AttentionOp", "MapOp", "RingOp", "AllReduceOp"]>]> {
  let summary = "Yields the values of a region";
  let description = [{
    The `attn.yield` operation terminates a region and yields its value, or its tensors.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The value of a region of scalars.
    Value getValue() { return getValues().front(); }
  }];
}

#endif // ATTNC_DIALECT_ATTN_ATTNOPS_TD
