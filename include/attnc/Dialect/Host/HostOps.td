//===- HostOps.td - the host dialect ----------------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the function that calls kernels. The dialect uses kernels through the
// KernelOpInterface alone.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HOST_HOSTOPS_TD
#define ATTNC_DIALECT_HOST_HOSTOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Host_Dialect : Dialect {
  let name = "host";
  let cppNamespace = "::mlir::host";
  let summary = "Functions that call kernels";
  let description = [{
    A host function is a `func.func` with a body, without results, whose arguments are `memref`s: a
    caller's tensors. It checks the call (`host.require`), allocates temporaries (`memref.alloc`),
    creates views of buffers (`memref`), and calls kernels in order (`host.call`). Sizes are
    computed by `memref.dim` and `arith`, from elements of buffers by `host.load`. Data of several
    processes is exchanged in `scf` loops, without temporaries of their own.

    `host-plan-workspace` places its temporaries, and `convert-host-to-llvm` lowers it.
  }];
}

class Host_Op<string mnemonic, list<Trait> traits = []>
    : Op<Host_Dialect, mnemonic, !listconcat(traits, [ParentOneOf<["::mlir::func::FuncOp", "::mlir::scf::ForOp", "::mlir::scf::IfOp"]>])>;

def Host_CallOp : Host_Op<"call", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls a kernel on buffers";
  let description = [{
    The `host.call` operation runs a kernel on one buffer for each of its parameters, in order; the
    kernel declares which it reads and which it writes. The host function returns immediately with
    the kernel's status if that is not 0. With a condition, the kernel runs only if it holds.

    - (C1) the callee is a kernel: an op with the `KernelOpInterface`.
    - (C2) one memref for each parameter, of its element type, rank and static sizes.
    - (C3) memrefs are strided, the last dimension by 1, and in the default memory space.

    ```mlir
    host.call @score(%q, %k, %s) : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x?xf32>
    host.call @few(%x, %y) if(%is_few) : memref<?xf32>, memref<?xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyMemRef>:$buffers,
      Optional<I1>:$condition);
  let assemblyFormat = [{
    $callee `(` $buffers `)` (`if` `(` $condition^ `)`)? attr-dict `:` type($buffers)
  }];
  let extraClassDeclaration = [{
    /// The kernel, or null if the module has no kernel of that name.
    ::mlir::attn::KernelOpInterface getKernel();
  }];
}

def Host_LoadOp : Host_Op<"load", [TypesMatchWith<"the result is the element type",
    "buffer", "value", "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Reads an element of a buffer on the host";
  let description = [{
    The `host.load` operation reads one element for the host function itself. Unlike `memref.load`
    it also reads tensors and temporaries on a GPU, by copying the element. The indices lie within
    the buffer.

    - (C1) one index per dimension.

    ```mlir
    %found = host.load %count[%c0] : memref<1xi32>
    ```
  }];
  let arguments = (ins Arg<MemRefOf<[AnyInteger, Index, AnyFloat]>, "", [MemRead]>:$buffer,
      Variadic<Index>:$indices);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Host_AllocateOp : Host_Op<"allocate"> {
  let summary = "Allocates a temporary of a size that is known in a call alone";
  let description = [{
    The `host.allocate` operation returns compact zeros, in memory of the caller's allocator that is
    freed when the call ends. The call is refused if a size is negative.

    ```mlir
    %all = host.allocate %n : memref<?x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$sizes attr-dict `:` type($buffer)";
}

def Host_RequireOp : Host_Op<"require"> {
  let summary = "Refuses the call unless a condition holds";
  let description = [{
    The `host.require` operation returns from the host function with the status of an invalid call
    and the message if the condition is false. Each `{}` of the message is one of the numbers, in
    order.

    - (C1) as many numbers as `{}`.

    ```mlir
    host.require %same, "expected as many keys as values"
    host.require %found, "expected a page in entry {} of sequence {}"(%i, %b)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Index>:$numbers);
  let assemblyFormat = "$condition `,` $message (`(` $numbers^ `)`)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::StringAttr":$message), [{
    build($_builder, $_state, condition, message, ::mlir::ValueRange());
  }]>];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

//===----------------------------------------------------------------------===//
// Exchange between processes
//===----------------------------------------------------------------------===//

// Calls of the caller's `exchange`. Buffers of messages are compact.

def Host_RankOp : Host_Op<"rank"> {
  let summary = "Stores the rank of this process and the number of ranks";
  let description = [{
    The `host.rank` operation stores two numbers; 0 and 1 if the call has no exchange.

    ```mlir
    host.rank %at : memref<2xi32>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Host_PlacesOp : Host_Op<"places"> {
  let summary = "Exchanges the numbers of rows of all ranks, and stores where they lie";
  let description = [{
    The `host.places` operation stores the elements of `attn.places`. `layout` is the number of an
    `attn` shard layout.

    ```mlir
    host.places %rows layout 1 to %at : memref<?xi32>
    ```
  }];
  let arguments = (ins Index:$rows, I32Attr:$layout, Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$buffer);
  let assemblyFormat = "$rows `layout` $layout `to` $buffer attr-dict `:` type($buffer)";
}

def Host_GatherOp : Host_Op<"gather"> {
  let summary = "Exchanges rows, along a dimension, by their places";
  let description = [{
    The `host.gather` operation is `attn.all_gather` of compact buffers; it waits for its messages.

    ```mlir
    host.gather %from, %at to %into layout 0 along 2 halo [1023, 0]
        : memref<?x2x?x64xf32>, memref<?xi32>, memref<?x2x?x64xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$from, Arg<MemRefRankOf<[I32], [1]>, "", [MemRead]>:$places,
      Arg<AnyMemRef, "", [MemWrite]>:$into, I32Attr:$layout, I64Attr:$dim, OptionalAttr<DenseI64ArrayAttr>:$halo);
  let assemblyFormat = [{
    $from `,` $places `to` $into `layout` $layout `along` $dim (`halo` $halo^)? attr-dict
    `:` type($from) `,` type($places) `,` type($into)
  }];
}

def Host_AgreeOp : Host_Op<"agree"> {
  let summary = "Refuses the call on all ranks unless their numbers are equal";
  let description = [{
    The `host.agree` operation compares each number with those of the other ranks.

    ```mlir
    host.agree %rows, %keys
    ```
  }];
  let arguments = (ins Variadic<Index>:$numbers);
  let assemblyFormat = "$numbers attr-dict";
}

def Host_PassOp : Host_Op<"pass"> {
  let summary = "Starts to send a buffer to the next rank, and to receive the previous one's";
  let description = [{
    The `host.pass` operation starts two messages; `host.wait` ends them. Without other ranks it does
    nothing.

    ```mlir
    host.pass %from to %into : memref<?x64xf32>, memref<?x64xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$from, Arg<AnyMemRef, "", [MemWrite]>:$into);
  let assemblyFormat = "$from `to` $into attr-dict `:` type($from) `,` type($into)";
}

def Host_TradeOp : Host_Op<"trade"> {
  let summary = "Starts the messages of one round of an all-reduce";
  let description = [{
    The `host.trade` operation starts the messages of round `round`, from 0 on: as many rounds as ranks
    are enough. `isReceived` tells whether `received` will hold another rank's data, to be combined
    with `data`; or else, after the last round, `data` will be the result. `host.wait` ends the messages.

    ```mlir
    %combines = host.trade %round, %data to %received : memref<?xf32>, memref<?xf32>
    ```
  }];
  let arguments = (ins Index:$round, Arg<AnyMemRef, "", [MemRead, MemWrite]>:$data,
      Arg<AnyMemRef, "", [MemWrite]>:$received);
  let results = (outs I1:$isReceived);
  let assemblyFormat = "$round `,` $data `to` $received attr-dict `:` type($data) `,` type($received)";
}

def Host_WaitOp : Host_Op<"wait"> {
  let summary = "Waits for all messages";
  let description = [{
    The `host.wait` operation returns from the host function with a status if a message failed.

    ```mlir
    host.wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // ATTNC_DIALECT_HOST_HOSTOPS_TD
