//===- HalideOps.td - the halide dialect ------------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's algorithms and schedules as IR, one to one and in Halide's words.
// The dialect does not depend on attention and does not link libHalide.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_HALIDEOPS_TD
#define ATTNC_DIALECT_HALIDE_HALIDEOPS_TD

include "attnc/Interfaces/KernelOpInterface.td"

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Halide_Dialect : Dialect {
  let name = "halide";
  let cppNamespace = "::mlir::halide";
  let summary = "Halide's algorithms and schedules";
  let description = [{
    A `halide.pipeline` holds an algorithm (inputs, funcs, updates, outputs) and
    its schedule (directives on loop handles). Dimensions are listed innermost
    first, as in Halide. Bodies are `arith` and `math` on scalars; coordinates
    are `i32`. Funcs and loops are handles: results of the op that defines them, which precedes
    their uses. Splitting or fusing a loop invalidates its handle, and using it afterwards is an
    error. Extents, factors and sizes fit into 32 bits.

    Floats follow Halide's rules: they may be reassociated and contracted, and
    NaN and infinities may be assumed away, except in comparisons, `is_nan`-like
    ops, minima and maxima without `fastmath<nnan>`, and under
    `halide.strict_float`. Integers wrap around, but coordinates, extents and ops
    with `overflow<nsw>` don't, and Halide reasons about their bounds.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

class Halide_Type<string cppName, string typeMnemonic> : TypeDef<Halide_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}
def Halide_Func : Halide_Type<"Func", "func"> {
  let summary = "a Halide func or input: element type and number of dimensions";
  let description = [{
    Elements are `i1`, `i8` to `i64`, `f8E4M3FN` or floats of 16 to 64 bits. Of `f8E4M3FN`, bits are
    moved and casts converted; nothing else computes with it.
  }];
  let parameters = (ins "::mlir::Type":$elementType, "int64_t":$rank);
  let assemblyFormat = "`<` $elementType `,` $rank `>`";
  let genVerifyDecl = 1;
}
def Halide_Loop : Halide_Type<"Loop", "loop"> {
  let summary = "a loop of one stage of one func, in a schedule";
}

class Halide_Enum<string enumName, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<enumName, text, cases> {
  let cppNamespace = "::mlir::halide";
  let genSpecializedAttr = 0;
}
def Halide_TailStrategy : Halide_Enum<"TailStrategy", "how a split handles its tail", [
    I32EnumAttrCase<"automatic", 0, "auto">, I32EnumAttrCase<"round_up", 1>,
    I32EnumAttrCase<"guard_with_if", 2>, I32EnumAttrCase<"predicate", 3>,
    I32EnumAttrCase<"shift_inwards", 4>]>;
def Halide_TailStrategyAttr : EnumAttr<Halide_Dialect, Halide_TailStrategy, "tail"> {
  let assemblyFormat = "$value";
}
def Halide_MemoryType : Halide_Enum<"MemoryType", "where a func is stored", [
    I32EnumAttrCase<"automatic", 0, "auto">, I32EnumAttrCase<"heap", 1>,
    I32EnumAttrCase<"stack", 2>, I32EnumAttrCase<"register_", 3, "register">,
    I32EnumAttrCase<"gpu_shared", 4>, I32EnumAttrCase<"gpu_texture", 5>]>;
def Halide_MemoryTypeAttr : EnumAttr<Halide_Dialect, Halide_MemoryType, "memory"> {
  let assemblyFormat = "$value";
}

/// Func and loop operands are defined by an op before this one in the pipeline.
def Halide_TakesHandles : NativeOpTrait<"TakesHandles">;

class Halide_Op<string mnemonic, list<Trait> traits = []>
    : Op<Halide_Dialect, mnemonic, !listconcat(traits, [Halide_TakesHandles])>;

/// Ops whose results print under the names of their funcs and loops.
def Halide_NamesResults : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

def Halide_PipelineOp : Halide_Op<"pipeline", [IsolatedFromAbove, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "Holds one Halide function: an algorithm and its schedule";
  let description = [{
    The `halide.pipeline` operation compiles to one function whose arguments are
    the buffers of its `halide.input` ops, in order, then those of its
    `halide.output` ops.

    - (C1) it has at least one output.
    - (C2) names of inputs and funcs are unique.
    - (C3) a loop that was split or fused is not used again.
    - (C4) a stage's vectorized and unrolled loops, as far as their extents are known, cover at
      most 65536 points.
    - (C5) its name consists of letters, digits and `_`, and doesn't begin with a digit.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let skipDefaultBuilders = 1;
  // Makes the body's block, empty.
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name)>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Halide_AlgorithmOp<string mnemonic, list<Trait> traits = []>
    : Halide_Op<mnemonic, !listconcat(traits, [HasParent<"PipelineOp">])>;

def Halide_InputOp : Halide_AlgorithmOp<"input", [Halide_NamesResults]> {
  let summary = "Declares an input buffer";
  let description = [{
    The `halide.input` operation declares a buffer with the extent of each
    dimension, `?` if it is known only when called. The innermost dimension
    has stride 1, the others any; minima are 0.

    - (C1) one extent per dimension, each at most 2^31 - 1.

    ```mlir
    %q = halide.input "query" [64, ?, 8, ?] : !halide.func<f32, 4>
    ```
  }];
  let arguments = (ins StrAttr:$name, DenseI64ArrayAttr:$extents);
  let results = (outs Halide_Func:$func);
  let assemblyFormat = "$name custom<Extents>($extents) attr-dict `:` type($func)";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$elementType,
      "::llvm::ArrayRef<int64_t>":$extents)>];
  let hasVerifier = 1;
}

def Halide_ExtentOp : Halide_AlgorithmOp<"extent", [Pure, Halide_NamesResults]> {
  let summary = "Reads the extent of an input's dimension";
  let description = [{
    - (C1) the operand is a `halide.input`.
    - (C2) the dimension is within its rank.

    ```mlir
    %n = halide.extent %q, 1 : !halide.func<f32, 4>
    ```
  }];
  let arguments = (ins Halide_Func:$func, I64Attr:$dim);
  let results = (outs I32:$extent);
  let assemblyFormat = "$func `,` $dim attr-dict `:` type($func)";
  let hasVerifier = 1;
}

class Halide_BodyOp<string mnemonic, list<Trait> traits = []>
    : Halide_AlgorithmOp<mnemonic, !listconcat(traits, [SingleBlock,
        DeclareOpInterfaceMethods<OpAsmOpInterface,
            ["getAsmBlockArgumentNames", "getAsmResultNames"]>])>;

def Halide_FuncOp : Halide_BodyOp<"func", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Defines a func by a pure definition";
  let description = [{
    The `halide.func` operation gives a value for every coordinate. Its
    variables keep their names in Halide. A string after a variable
    (`%x_0 "x"`) is its name if the printer had to rename it.

    - (C1) the body takes one i32 per dimension and yields the element type
      without coordinates.

    ```mlir
    %f = halide.func "blur" [%x, %y] : f32 {
      %v = halide.at %in[%x, %y] : !halide.func<f32, 2>
      halide.yield %v : f32
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$vars);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Halide_Func:$func);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    // `body` is called with the variables and ends with a halide.yield.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$elementType,
        "::llvm::ArrayRef<::llvm::StringRef>":$vars, "BodyBuilder":$body)>];
  let hasRegionVerifier = 1;
}

def Halide_UpdateOp : Halide_BodyOp<"update", [AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Redefines a func over a reduction domain";
  let description = [{
    The `halide.update` operation is Halide's update definition. Its body takes
    the pure variables used, then one variable for each dimension of the
    reduction domain (its minima and extents are scalars of the pipeline). It yields the
    value, with `at` the coordinates written to (default: the pure variables,
    which then are one per dimension) and with `where` the condition
    under which the point of the domain takes part.

    - (C1) one minimum and one extent per reduction variable.
    - (C2) the body yields the func's element type and one coordinate per
      dimension; a pure variable keeps its own position, in these
      coordinates and in every read of the func itself.
    - (C3) the operand is a `halide.func` not yet read by another definition.

    ```mlir
    halide.update %sum[%x] over [%r min %c0 extent %n] : !halide.func<f32, 1> {
      %old = halide.at %sum[%x] : !halide.func<f32, 1>
      %v = halide.at %in[%r, %x] : !halide.func<f32, 2>
      %new = arith.addf %old, %v : f32
      halide.yield %new : f32
    }
    ```
  }];
  let arguments = (ins Halide_Func:$func, Variadic<I32>:$mins, Variadic<I32>:$extents,
      StrArrayAttr:$vars, StrArrayAttr:$rvars);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    // `body` is called with the pure, then the reduction variables and ends
    // with a halide.yield.
    OpBuilder<(ins "::mlir::Value":$func, "::llvm::ArrayRef<::llvm::StringRef>":$vars,
        "::llvm::ArrayRef<ReductionVar>":$rvars, "BodyBuilder":$body)>];
  let extraClassDeclaration = [{
    /// The dimension of each pure variable of the body.
    SmallVector<int64_t> getPureDims();
    YieldOp getYield();
  }];
  let hasRegionVerifier = 1;
}

def Halide_YieldOp : Halide_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    ParentOneOf<["FuncOp", "UpdateOp"]>]> {
  let summary = "Yields the value of a definition";
  let description = [{
    The `halide.yield` operation ends the body of a func or update: the value,
    in an update also the coordinates it is stored `at` and the condition `where`.

    ```mlir
    halide.yield %v at [%r, %y] where %c : f32
    ```
  }];
  let arguments = (ins AnyType:$value, Variadic<I32>:$coords, Optional<I1>:$where);
  let assemblyFormat = [{
    $value (`at` ` ` `[` $coords^ `]`)? (`where` $where^)? attr-dict `:` type($value)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
      CArg<"::mlir::ValueRange", "{}">:$coords), [{
    build($_builder, $_state, value, coords, ::mlir::Value());
  }]>];
}

def Halide_ExternOp : Halide_AlgorithmOp<"extern", [Halide_NamesResults]> {
  let summary = "Defines a func by a C function";
  let description = [{
    The `halide.extern` operation is Halide's define_extern: the stage is
    computed by the C function `symbol`, which takes the buffers of `args`. It has
    no loops; with neither compute_root nor compute_at it is called for every
    value a consumer reads.

    - (C1) one variable per dimension.

    ```mlir
    %e = halide.extern "tile" @amx_tile(%a, %b) ["x", "y"] : (!halide.func<bf16, 2>, !halide.func<bf16, 2>) -> !halide.func<f32, 2>
    ```
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$symbol, Variadic<Halide_Func>:$args,
      StrArrayAttr:$vars);
  let results = (outs Halide_Func:$func);
  let assemblyFormat = [{
    $name $symbol `(` $args `)` $vars attr-dict `:` functional-type($args, $func)
  }];
  let hasVerifier = 1;
}

def Halide_OutputOp : Halide_AlgorithmOp<"output"> {
  let summary = "Makes a func an output of the pipeline";
  let description = [{
    The `halide.output` operation names a func as an output with the extent of
    each dimension, `?` if it is known only when called; the layout is as for
    `halide.input`. The func keeps its compute_root level.

    - (C1) one extent per dimension, each at most 2^31 - 1.
    - (C2) the operand is a func, not an input.

    ```mlir
    halide.output %f [64, ?, 8, ?] : !halide.func<f32, 4>
    ```
  }];
  let arguments = (ins Halide_Func:$func, DenseI64ArrayAttr:$extents);
  let assemblyFormat = "$func custom<Extents>($extents) attr-dict `:` type($func)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Halide expressions that arith and math lack
//===----------------------------------------------------------------------===//

def Halide_AtOp : Halide_Op<"at", [Pure, TypesMatchWith<"the result is the element type",
    "func", "value", "::llvm::cast<FuncType>($_self).getElementType()">]> {
  let summary = "Reads a func or input at coordinates";
  let description = [{
    - (C1) one coordinate per dimension; the result is the element type.

    ```mlir
    %v = halide.at %in[%x, %y] : !halide.func<f32, 2>
    ```
  }];
  let arguments = (ins Halide_Func:$func, Variadic<I32>:$coords);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$func `[` $coords `]` attr-dict `:` type($func)";
  let builders = [OpBuilder<(ins "::mlir::Value":$func, "::mlir::ValueRange":$coords), [{
    build($_builder, $_state, ::llvm::cast<FuncType>(func.getType()).getElementType(), func, coords);
  }]>];
  let hasVerifier = 1;
}

def Halide_ModOp : Halide_Op<"mod", [Pure, SameOperandsAndResultType]> {
  let summary = "Computes the non-negative remainder";
  let description = [{
    The `halide.mod` operation is Halide's `%`: never negative, 0 where the divisor is 0.
    With `arith.floordivsi` by a positive constant it takes coordinates apart in
    the way that Halide's bounds inference understands.
  }];
  let arguments = (ins AnySignlessInteger:$lhs, AnySignlessInteger:$rhs);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Halide_StrictFloatOp : Halide_Op<"strict_float", [Pure, SameOperandsAndResultType]> {
  let summary = "Keeps the float ops of an expression as written";
  let description = [{
    The `halide.strict_float` operation is Halide's strict_float: nothing below it is
    reordered, contracted or assumed free of NaN.
  }];
  let arguments = (ins AnyFloat:$value);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Halide_PromiseClampedOp : Halide_Op<"unsafe_promise_clamped", [Pure]> {
  let summary = "Promises that a coordinate lies within bounds";
  let description = [{
    The `halide.unsafe_promise_clamped` operation is Halide's: bounds inference
    assumes `value` within [min, max], unchecked.
  }];
  let arguments = (ins I32:$value, I32:$min, I32:$max);
  let results = (outs I32:$result);
  let assemblyFormat = "$value `,` $min `,` $max attr-dict";
}

def Halide_LikelyOp : Halide_Op<"likely", [Pure, SameOperandsAndResultType]> {
  let summary = "Marks a condition as the common case";
  let description = [{
    The `halide.likely` operation is Halide's likely: loops are partitioned so
    that the condition is true in the steady state.
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Halide_FetchAheadOp : Halide_Op<"fetch_ahead", [Pure,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "Prefetches an element of an input";
  let description = [{
    The `halide.fetch_ahead` operation returns `value`, and prefetches the cache line of
    `element`; of a vector of elements, that of the first. `locality` is that of `memref.prefetch`:
    3 prefetches into the L1 cache, 2, the default, into L2, 1 into L3.

    - (C1) the element is read from an input.

    ```mlir
    %x = halide.fetch_ahead %key, %later locality<3> : f32, f32
    ```
  }];
  let arguments = (ins AnyType:$value, AnyType:$element,
      DefaultValuedAttr<ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<3>]>, "2">:$locality);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $value `,` $element (`locality` `<` $locality^ `>`)? attr-dict
    `:` type($value) `,` type($element)
  }];
  let hasVerifier = 1;
}

def Halide_DotBF16PairOp : Halide_Op<"dot_bf16_pair", [Pure]> {
  let summary = "Adds the products of two pairs of bf16";
  let description = [{
    The `halide.dot_bf16_pair` operation returns acc + a1·b1 + a0·b0 of pairs of bf16: a0 is the
    lower half of the bits of `a`, a1 the upper half. A vector of at least 4 sums takes one
    instruction, `vdpbf16ps`, on a CPU that has it: denormals are 0, sums round to the nearest.
    Elsewhere the same products are computed in f32.

    ```mlir
    %next = halide.dot_bf16_pair %acc, %a, %b
    ```
  }];
  let arguments = (ins F32:$acc, I32:$a, I32:$b);
  let results = (outs F32:$result);
  let assemblyFormat = "$acc `,` $a `,` $b attr-dict";
}

def Halide_DotBF16TilesOp : Halide_Op<"dot_bf16_tiles", [Pure]> {
  let summary = "Adds the products of two pairs of bf16, of whole matrices at once";
  let description = [{
    The `halide.dot_bf16_tiles` operation is `halide.dot_bf16_pair` as the value of an update whose
    three innermost loops are those of a matrix product: over rows, which `a` depends on, over columns,
    which `b` depends on, and over pairs, more than one. Code for a CPU replaces the three by one call of
    `attnc_multiply_tiles`, which uses tiles of AMX where the system grants them, or bfmmla.

    - `acc` is the update's own element, or constant 0 where the sum starts with the products; `depth`
      is then at least 1.
    - `a` is read from memory: as pairs, with either pairs or rows side by side, or as the even
      element of a pair, where elements are side by side.
    - `b` is read from memory as pairs, with columns side by side, whose number is a multiple of 16.
      Pairs from `depth` on, up to a multiple of 16, are there and finite.
    - Of the rows and pairs in the loops, the call takes the first `rows` and the first `depth`
      elements, which are evaluated where the loops begin. No other element of `a` is read, and no
      other row stored. Conditions of the update must say the same.

    ```mlir
    %next = halide.dot_bf16_tiles %acc, %a, %b rows %rows depth %depth : bf16
    ```
  }];
  let arguments = (ins F32:$acc, AnyTypeOf<[BF16, I32]>:$a, I32:$b, I32:$rows, I32:$depth);
  let results = (outs F32:$result);
  let assemblyFormat = "$acc `,` $a `,` $b `rows` $rows `depth` $depth attr-dict `:` type($a)";
}

def Halide_DotI8QuadOp : Halide_Op<"dot_i8_quad", [Pure]> {
  let summary = "Adds the products of four bytes";
  let description = [{
    The `halide.dot_i8_quad` operation returns acc + Σ a_i·b_i of the four bytes of `a`, 0 to 255, and
    of `b`, -128 to 127; the lowest bits are byte 0. A vector of 4, 8 or 16 sums takes one instruction,
    `vpdpbusd`, on a CPU that has it with AVX-512.

    ```mlir
    %next = halide.dot_i8_quad %acc, %a, %b
    ```
  }];
  let arguments = (ins I32:$acc, I32:$a, I32:$b);
  let results = (outs I32:$result);
  let assemblyFormat = "$acc `,` $a `,` $b attr-dict";
}

def Halide_MakeI8QuadOp : Halide_Op<"make_i8_quad", [Pure]> {
  let summary = "Puts four bytes side by side";
  let description = [{
    The `halide.make_i8_quad` operation returns the bits of four i8, the first in the lowest bits.
    Quads whose bytes lie side by side in memory take one load.

    ```mlir
    %quad = halide.make_i8_quad %b0, %b1, %b2, %b3
    ```
  }];
  let arguments = (ins I8:$first, I8:$second, I8:$third, I8:$fourth);
  let results = (outs I32:$result);
  let assemblyFormat = "$first `,` $second `,` $third `,` $fourth attr-dict";
}

def Halide_MakeBF16PairOp : Halide_Op<"make_bf16_pair", [Pure]> {
  let summary = "Puts the bits of two bf16 side by side";
  let description = [{
    The `halide.make_bf16_pair` operation returns the bits of two bf16, `low` in the lower half.
    Pairs that lie side by side in memory take one load, others one shuffle.

    ```mlir
    %pair = halide.make_bf16_pair %low, %high
    ```
  }];
  let arguments = (ins I16:$low, I16:$high);
  let results = (outs I32:$result);
  let assemblyFormat = "$low `,` $high attr-dict";
}

def Halide_RoundBF16PairOp : Halide_Op<"round_bf16_pair", [Pure]> {
  let summary = "Rounds two f32 to a pair of bf16";
  let description = [{
    The `halide.round_bf16_pair` operation rounds to the nearest bf16, ties to even; `low` goes
    to the lower half of the bits. NaN stays NaN. Denormals may become 0.

    ```mlir
    %pair = halide.round_bf16_pair %low, %high
    ```
  }];
  let arguments = (ins F32:$low, F32:$high);
  let results = (outs I32:$result);
  let assemblyFormat = "$low `,` $high attr-dict";
}

def Halide_Exp2BF16Op : Halide_Op<"exp2_bf16", [Pure]> {
  let summary = "2^x as accurate as bf16";
  let description = [{
    The `halide.exp2_bf16` operation returns 2^x with a relative error of at most 2^-13, for what is
    then rounded to bf16. Whole numbers have exact powers, those below 2^-125.5 are 0; NaN stays
    NaN. The result is unspecified for x below -126 or from 128 on.

    ```mlir
    %power = halide.exp2_bf16 %x
    ```
  }];
  let arguments = (ins F32:$x);
  let results = (outs F32:$result);
  let assemblyFormat = "$x attr-dict";
}

def Halide_StoreBesideOp : Halide_Op<"store_beside", [Pure,
    AllTypesMatch<["value", "result"]>, AllTypesMatch<["stored", "element"]>]> {
  let summary = "Stores to an output in the loops of another func";
  let description = [{
    The `halide.store_beside` operation returns `value`. Where a func that yields it is
    computed, `stored` is also written to `element`, if the condition holds: the loops of one
    func write two buffers. (`halide.compute_with` infers bounds that are too wide inside
    fused loops.) The func is not inlined.

    - (C1) the element is read from an output of the pipeline.
    - (C2) a `halide.yield` is the only use, as the value of a func.

    ```mlir
    %o = halide.at %lse[%i] : !halide.func<f32, 1>
    %r = halide.store_beside %inverse, %l to %o where %some : f32, f32
    halide.yield %r : f32
    ```
  }];
  let arguments = (ins AnyType:$value, AnyType:$stored, AnyType:$element,
      Optional<I1>:$condition);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $value `,` $stored `to` $element (`where` $condition^)? attr-dict
    `:` type($value) `,` type($stored)
  }];
  let hasVerifier = 1;
}

def Halide_StoreWhereOp : Halide_Op<"store_where", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "Stores an update's value only where a condition holds";
  let description = [{
    The `halide.store_where` operation returns `value`, which is computed and stored where
    `condition` holds; elsewhere the element stays as it is. Unlike the condition of a
    `halide.yield`, it hides nothing from bounds inference: no loop becomes shorter by it, and the
    yield's own condition still bounds the loops that it does not depend on.

    - (C1) the `halide.yield` of an update is the only use, as its value.
    - (C2) Where the update is vectorized, the condition is the same for all lanes of a vector.

    ```mlir
    %r = halide.store_where %sum, %is_first : f32
    halide.yield %r : f32
    ```
  }];
  let arguments = (ins AnyType:$value, I1:$condition);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $condition attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Halide_UndefOp : Halide_Op<"undef", [Pure]> {
  let summary = "Leaves the elements of an output as they are";
  let description = [{
    The `halide.undef` operation is Halide's undef: a func that yields it stores nothing before its
    updates. The buffer of such an output keeps what it holds where no update writes.

    - (C1) a `halide.yield` is the only use, as the value of a func.

    ```mlir
    %f = halide.func "rows" [%x, %y] : f32 {
      %u = halide.undef : f32
      halide.yield %u : f32
    }
    ```
  }];
  let results = (outs AnyType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

class Halide_Directive<string mnemonic, list<Trait> traits = []>
    : Halide_Op<mnemonic, !listconcat(traits, [HasParent<"PipelineOp">])>;

def Halide_LoopsOp : Halide_Directive<"loops", [Halide_NamesResults]> {
  let summary = "Gives handles on the loops of a stage, innermost first";
  let description = [{
    The `halide.loops` operation gives the loops of a func's pure definition or,
    with `update N`, of its N-th update (counted from 0): one handle for each
    variable of that definition's body, in the body's order.

    - (C1) the stage exists and has that many variables.

    ```mlir
    %x, %y = halide.loops %f : !halide.func<f32, 2>
    %x1, %r = halide.loops %f update 0 : !halide.func<f32, 2>
    ```
  }];
  let arguments = (ins Halide_Func:$func, OptionalAttr<I64Attr>:$update);
  let results = (outs Variadic<Halide_Loop>:$loops);
  let assemblyFormat = [{
    $func (`update` $update^)? attr-dict `:` type($func) `` custom<LoopTypes>(type($loops))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$func,
      CArg<"::std::optional<int64_t>", "::std::nullopt">:$update)>];
  let hasVerifier = 1;
}

def Halide_SplitOp : Halide_Directive<"split", [Halide_NamesResults]> {
  let summary = "Splits a loop into an outer and an inner one of `factor` steps";
  let description = [{
    ```mlir
    %xo, %xi = halide.split %x by 32 tail guard_with_if
    ```

    - (C1) the factor is positive and at most 2^31 - 1.
  }];
  let arguments = (ins Halide_Loop:$loop, I64Attr:$factor,
      DefaultValuedAttr<Halide_TailStrategyAttr, "TailStrategy::automatic">:$tail);
  let results = (outs Halide_Loop:$outer, Halide_Loop:$inner);
  let assemblyFormat = "$loop `by` $factor (`tail` `` $tail^)? attr-dict";
  let hasVerifier = 1;
}
def Halide_FuseOp : Halide_Directive<"fuse", [Halide_NamesResults]> {
  let summary = "Fuses an inner and an outer loop into one";
  let description = [{
    - (C1) both loops are of one stage.
  }];
  let arguments = (ins Halide_Loop:$inner, Halide_Loop:$outer);
  let results = (outs Halide_Loop:$fused);
  let assemblyFormat = "$inner `,` $outer attr-dict";
  let hasVerifier = 1;
}
def Halide_ReorderOp : Halide_Directive<"reorder"> {
  let summary = "Orders loops of one stage, innermost first";
  let description = [{
    - (C1) all loops are of one stage, none twice.
  }];
  let arguments = (ins Variadic<Halide_Loop>:$loops);
  let assemblyFormat = "$loops attr-dict";
  let hasVerifier = 1;
}
class Halide_LoopDirective<string mnemonic, string text> : Halide_Directive<mnemonic> {
  let summary = text;
  let arguments = (ins Halide_Loop:$loop);
  let assemblyFormat = "$loop attr-dict";
}
def Halide_VectorizeOp : Halide_LoopDirective<"vectorize", "Turns a loop into vector code">;
def Halide_UnrollOp : Halide_LoopDirective<"unroll", "Unrolls a loop in full">;
def Halide_ParallelOp : Halide_LoopDirective<"parallel", "Runs a loop's iterations in parallel">;
def Halide_GpuBlockOp : Halide_LoopDirective<"gpu_block", "Maps a loop to GPU blocks">;
def Halide_GpuThreadOp : Halide_LoopDirective<"gpu_thread", "Maps a loop to GPU threads">;

class Halide_FuncDirective<string mnemonic, string text> : Halide_Directive<mnemonic> {
  let summary = text;
  let description = [{
    - (C1) the operand is a func, not an input.
  }];
  let arguments = (ins Halide_Func:$func);
  let assemblyFormat = "$func attr-dict `:` type($func)";
  let hasVerifier = 1;
}
def Halide_ComputeRootOp : Halide_FuncDirective<"compute_root", "Computes all of a func first">;
def Halide_StoreRootOp : Halide_FuncDirective<"store_root", "Stores a func outside all loops">;

class Halide_AtDirective<string mnemonic, string text> : Halide_Directive<mnemonic> {
  let summary = text;
  let description = [{
    - (C1) the operand is a func, not an input.
    - (C2) the loop is not one of the func's own.
    - (C3) the func is not an output: outputs keep the compute_root level.
  }];
  let arguments = (ins Halide_Func:$func, Halide_Loop:$loop);
  let assemblyFormat = "$func `,` $loop attr-dict `:` type($func)";
  let hasVerifier = 1;
}
def Halide_ComputeAtOp : Halide_AtDirective<"compute_at", "Computes a func inside a loop of its consumer">;
def Halide_StoreAtOp : Halide_AtDirective<"store_at", "Stores a func inside a loop of its consumer">;

def Halide_ComputeWithOp : Halide_Directive<"compute_with"> {
  let summary = "Runs a stage inside the loops of another";
  let description = [{
    The loops from the outermost down to `loop` are shared; they have the same
    names and extents in both stages.

    - (C1) the stage exists, and `loop` belongs to another func.
  }];
  let arguments = (ins Halide_Func:$func, OptionalAttr<I64Attr>:$update, Halide_Loop:$loop);
  let assemblyFormat = "$func (`update` $update^)? `,` $loop attr-dict `:` type($func)";
  let hasVerifier = 1;
}
def Halide_StoreInOp : Halide_Directive<"store_in"> {
  let summary = "Chooses the memory a func is stored in";
  let description = [{
    - (C1) the operand is a func, not an input.
  }];
  let arguments = (ins Halide_Func:$func, Halide_MemoryTypeAttr:$memory);
  let assemblyFormat = "$func `,` `` $memory attr-dict `:` type($func)";
  let hasVerifier = 1;
}

class Halide_DimDirective<string mnemonic, string text, string word> : Halide_Directive<mnemonic> {
  let summary = text;
  let description = [{
    - (C1) the dimension is within the func's rank; the size is positive and at most 2^31 - 1.
    - (C2) the operand is a func, not an input.
  }];
  let arguments = (ins Halide_Func:$func, I64Attr:$dim, I64Attr:$size);
  let assemblyFormat = "$func `,` $dim `" # word # "` $size attr-dict `:` type($func)";
  let hasVerifier = 1;
}
def Halide_BoundExtentOp : Halide_DimDirective<"bound_extent", "States how much of a dimension is computed", "extent">;
def Halide_BoundStorageOp : Halide_DimDirective<"bound_storage", "States how much of a dimension is stored at once", "extent">;
def Halide_AlignBoundsOp : Halide_DimDirective<"align_bounds", "Rounds a dimension's bounds to multiples", "to">;
def Halide_AlignStorageOp : Halide_DimDirective<"align_storage", "Rounds a dimension's storage to multiples", "to">;

def Halide_ReorderStorageOp : Halide_Directive<"reorder_storage"> {
  let summary = "Orders the dimensions in memory, innermost first";
  let description = [{
    - (C1) the order is a permutation of the func's dimensions.
    - (C2) the operand is a func, not an input.
  }];
  let arguments = (ins Halide_Func:$func, DenseI64ArrayAttr:$order);
  let assemblyFormat = "$func $order attr-dict `:` type($func)";
  let hasVerifier = 1;
}

class Halide_StageDirective<string mnemonic, string text> : Halide_Directive<mnemonic> {
  let summary = text;
  let description = [{
    - (C1) the stage exists.
  }];
  let arguments = (ins Halide_Func:$func, OptionalAttr<I64Attr>:$update);
  let assemblyFormat = "$func (`update` $update^)? attr-dict `:` type($func)";
  let hasVerifier = 1;
}
def Halide_AtomicOp : Halide_StageDirective<"atomic", "Lets reduction loops be parallel or vectorized">;
def Halide_GpuSingleThreadOp : Halide_StageDirective<"gpu_single_thread",
    "Runs a stage as one thread of a GPU">;
def Halide_AllowRaceConditionsOp : Halide_StageDirective<"allow_race_conditions",
    "Promises that races between a stage's writes are harmless">;

def Halide_NeverPartitionOp : Halide_StageDirective<"never_partition",
    "Keeps Halide from partitioning the loops of a stage">;

def Halide_RfactorOp : Halide_Directive<"rfactor", [Halide_NamesResults]> {
  let summary = "Splits an associative reduction into an intermediate func and a merge";
  let description = [{
    The loop becomes the last pure dimension of the intermediate func, the
    result, after the func's own dimensions. The stage's other reduction loops
    move into update 0 of the intermediate, after its pure variables; their
    handles become invalid.

    - (C1) the loop is a reduction loop of an update.
    - (C2) the result has the func's element type and one dimension more.

    ```mlir
    %partial = halide.rfactor %ro : !halide.func<f32, 1>
    ```
  }];
  let arguments = (ins Halide_Loop:$loop);
  let results = (outs Halide_Func:$intermediate);
  let assemblyFormat = "$loop attr-dict `:` type($intermediate)";
  let builders = [OpBuilder<(ins "::mlir::Value":$loop)>];
  let hasVerifier = 1;
}
def Halide_SpecializeOp : Halide_Directive<"specialize", [Halide_NamesResults]> {
  let summary = "Compiles a version of a stage for a condition";
  let description = [{
    Gives handles on the specialized version's loops, one for each variable of the
    stage's body; directives on them leave the general version alone.

    - (C1) the stage exists and has that many variables.
    - (C2) none of the stage's loops was split or fused before.

    ```mlir
    %sx, %sy = halide.specialize %f when %wide : !halide.func<f32, 2>
    ```
  }];
  let arguments = (ins Halide_Func:$func, OptionalAttr<I64Attr>:$update, I1:$condition);
  let results = (outs Variadic<Halide_Loop>:$loops);
  let assemblyFormat = [{
    $func (`update` $update^)? `when` $condition attr-dict `:` type($func)
    `` custom<LoopTypes>(type($loops))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$func, "::mlir::Value":$condition,
      CArg<"::std::optional<int64_t>", "::std::nullopt">:$update)>];
  let hasVerifier = 1;
}
def Halide_PrefetchOp : Halide_Directive<"prefetch"> {
  let summary = "Prefetches data for a later iteration of a loop";
  let description = [{
    The `halide.prefetch` operation fetches the part of `func`, a func or an input,
    that the stage of `loop` reads `offset` iterations later.

    - (C1) the offset is positive and at most 2^31 - 1.
  }];
  let arguments = (ins Halide_Func:$func, Halide_Loop:$loop, I64Attr:$offset);
  let assemblyFormat = "$func `,` $loop `offset` $offset attr-dict `:` type($func)";
  let hasVerifier = 1;
}

#endif // ATTNC_DIALECT_HALIDE_HALIDEOPS_TD
