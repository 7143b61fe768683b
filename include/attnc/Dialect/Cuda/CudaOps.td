//===- CudaOps.td - the cuda dialect ----------------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_CUDA_CUDAOPS_TD
#define ATTNC_DIALECT_CUDA_CUDAOPS_TD

include "attnc/Interfaces/KernelOpInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::mlir::cuda";
  let summary = "Kernels for NVIDIA GPUs, written per thread";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let description = [{
    A `cuda.kernel` holds the code of one thread in ops of `arith`, `math`, `scf`, `llvm` and `nvvm`,
    and how many threads run it. LLVM compiles it to PTX, which is launched in the context, stream and
    memory of Halide's CUDA runtime: a library may have kernels of this kind beside those of
    `halide.pipeline`.
  }];
}

def Cuda_KernelOp : Op<Cuda_Dialect, "kernel", [IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<KernelOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Holds the code of a thread of a CUDA kernel, and its launch";
  let description = [{
    The `cuda.kernel` operation takes buffers of `types`, of which it reads the first `num_inputs` and
    writes the others. The body's arguments are, for each buffer, its address in global memory, then
    its sizes, then its strides, outermost dimension first; and then the address of each of its
    `tensor_maps`.

    It is launched with `threads` threads a block, `shared_bytes` bytes of shared memory
    (`cuda.shared_memory`), and as many blocks as the product of `blocks`: each is the number of a
    buffer, of its first dimension and how many of them, whose sizes are multiplied, and a divisor of
    that product, which is rounded up. Two more numbers are a buffer and a dimension whose size is
    added to the quotient. More than 48 KB of shared memory are asked for; a device with
    less refuses the call.

    Each of `tensor_maps` describes a buffer for copies of boxes to shared memory (TMA): its number,
    and the size of a box in each of its dimensions. Chunks of 16 bytes are swizzled within 128
    bytes, and elements outside of the buffer are zeros. Addresses and strides that are no multiples
    of 16 bytes have no map: such a call runs the kernel `fallback` in its place, or is refused.

    - (C1) a name and a type for each buffer; `num_inputs` of them at most.
    - (C2) the body has the arguments named above.
    - (C3) each of `blocks` is a buffer, dimensions of it, at least one, and a positive divisor, and
      may be followed by a buffer and a dimension.
    - (C4) at most 1024 threads, whole warps, and at most 232448 bytes of shared memory.
    - (C5) each of `tensor_maps` is a buffer of 1 to 5 dimensions, and 1 to 256 elements of each; of
      the innermost as many as 128 bytes hold.
    - (C6) `fallback` is a kernel of the same buffers.

    ```mlir
    cuda.kernel @copy names(["x", "y"]) types([memref<?xf32>, memref<?xf32>]) num_inputs(1)
        blocks([[1, 0, 1, 32]]) threads(32) shared_bytes(0) {
    ^bb0(%x: !llvm.ptr<1>, %xn: i32, %xs: i32, %y: !llvm.ptr<1>, %yn: i32, %ys: i32):
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %c32 = arith.constant 32 : i32
      %first = arith.muli %block, %c32 : i32
      %i = arith.addi %first, %thread : i32
      %isIn = arith.cmpi slt, %i, %yn : i32
      scf.if %isIn {
        %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
        %value = llvm.load %from : !llvm.ptr<1> -> f32
        %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
        llvm.store %value, %to : f32, !llvm.ptr<1>
      }
      cuda.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$names, TypeArrayAttr:$types,
      I64Attr:$num_inputs, ArrayAttr:$blocks, I64Attr:$threads, I64Attr:$shared_bytes,
      OptionalAttr<ArrayAttr>:$tensor_maps, OptionalAttr<FlatSymbolRefAttr>:$fallback);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `names` `(` $names `)` `types` `(` $types `)` `num_inputs` `(` $num_inputs `)`
    `blocks` `(` $blocks `)` `threads` `(` $threads `)` `shared_bytes` `(` $shared_bytes `)`
    (`tensor_maps` `(` $tensor_maps^ `)`)? (`fallback` `(` $fallback^ `)`)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// A factor of the number of blocks: ceil(product of sizes / divisor), plus the size of the
    /// dimension `added`, if that is of a buffer.
    struct Blocks {
      int64_t buffer, dim, dims, divisor, addedBuffer = -1, addedDim = 0;
    };
    ::llvm::SmallVector<Blocks> getBlockFactors();
    /// A tensor map: a buffer, and the size of a box in each dimension, outermost first.
    struct Map {
      int64_t buffer;
      ::llvm::SmallVector<int64_t> box;
    };
    ::llvm::SmallVector<Map> getMaps();
    ::mlir::MemRefType getType(int64_t buffer) {
      return ::llvm::cast<::mlir::MemRefType>(
          ::llvm::cast<::mlir::TypeAttr>(getTypes()[buffer]).getValue());
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Cuda_SharedMemoryOp : Op<Cuda_Dialect, "shared_memory", [Pure]> {
  let summary = "Gives the address of a block's shared memory";
  let description = [{
    The `cuda.shared_memory` operation gives the address of the first of the kernel's `shared_bytes`,
    a multiple of 1024. It is not 0: GPUs since capability 9.0 keep the first 1024 bytes.

    ```mlir
    %shared = cuda.shared_memory : !llvm.ptr<3>
    ```
  }];
  let results = (outs LLVM_PointerInAddressSpace<3>:$address);
  let assemblyFormat = "attr-dict `:` type($address)";
}

def Cuda_ReturnOp : Op<Cuda_Dialect, "return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a thread";
  let description = [{
    The `cuda.return` operation ends the code of a thread.

    ```mlir
    cuda.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // ATTNC_DIALECT_CUDA_CUDAOPS_TD
