// y is x, of which each thread passes a number on behind 96 KB of shared memory.
cuda.kernel @pass names(["x", "y"]) types([memref<?xf32>, memref<?xf32>]) num_inputs(1)
    blocks([[1, 0, 1, 32]]) threads(32) shared_bytes(98432) {
^bb0(%x: !llvm.ptr<1>, %xn: i32, %xs: i32, %y: !llvm.ptr<1>, %yn: i32, %ys: i32):
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %c32 = arith.constant 32 : i32
  %first = arith.muli %block, %c32 : i32
  %i = arith.addi %first, %thread : i32
  %isIn = arith.cmpi slt, %i, %yn : i32
  %shared = cuda.shared_memory : !llvm.ptr<3>
  %behind = llvm.getelementptr %shared[98304] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %place = llvm.getelementptr %behind[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  scf.if %isIn {
    %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %value = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store volatile %value, %place : f32, !llvm.ptr<3>
    %passed = llvm.load volatile %place : !llvm.ptr<3> -> f32
    %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %passed, %to : f32, !llvm.ptr<1>
  }
  cuda.return
}
!vector = memref<?xf32, strided<[1], offset: ?>>
func.func @f(%x: !vector {attn.name = "x", attn.dims = ["n"]},
             %y: !vector {attn.name = "y", attn.dims = ["n"], attn.result}) {
  host.call @pass(%x, %y) : !vector, !vector
  return
}
