// y is x, whose rows a block copies 8 at a time: by a tensor map, else one number after another.

// Row r of shared memory is swizzled: chunk c of 16 bytes is where c ^ r would be.
cuda.kernel @boxes names(["x", "y"]) types([memref<?x?x64xf16>, memref<?x?x64xf16>]) num_inputs(1)
    blocks([[0, 0, 1, 1], [0, 1, 1, 8]]) threads(64) shared_bytes(2048) tensor_maps([[0, 1, 8, 64]])
    fallback(@numbers) {
^bb0(%x: !llvm.ptr<1>, %xb: i32, %xr: i32, %xc: i32, %xsb: i32, %xsr: i32, %xsc: i32,
     %y: !llvm.ptr<1>, %yb: i32, %yr: i32, %yc: i32, %ysb: i32, %ysr: i32, %ysc: i32, %map: !llvm.ptr):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %bytes = arith.constant 1024 : i32
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %above = arith.addi %xr, %c7 : i32
  %tiles = arith.divui %above, %c8 : i32
  %batch = arith.divui %block, %tiles : i32
  %tile = arith.remui %block, %tiles : i32
  %first = arith.muli %tile, %c8 : i32
  %shared = cuda.shared_memory : !llvm.ptr<3>
  %barrier = llvm.getelementptr %shared[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %isFirst = arith.cmpi eq, %thread, %c0 : i32
  scf.if %isFirst {
    nvvm.mbarrier.init %barrier, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
    %to = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %barrier, box[%c0, %first, %batch]
        : !llvm.ptr<7>, !llvm.ptr
  }
  nvvm.barrier0
  nvvm.mbarrier.try_wait.parity %barrier, %c0, %bytes : !llvm.ptr<3>, i32, i32
  %row = arith.divui %thread, %c8 : i32
  %chunk = arith.remui %thread, %c8 : i32
  %swizzled = arith.xori %chunk, %row : i32
  %rows = llvm.getelementptr %shared[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<64 x f16>
  %from = llvm.getelementptr %rows[%swizzled] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<8xf16>
  %read = llvm.load %from : !llvm.ptr<3> -> vector<4xi32>
  %r = arith.addi %first, %row : i32
  %isIn = arith.cmpi slt, %r, %yr : i32
  scf.if %isIn {
    %b = arith.muli %batch, %ysb : i32
    %rs = arith.muli %r, %ysr : i32
    %o = arith.addi %b, %rs : i32
    %at = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %place = llvm.getelementptr %at[%chunk] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<8xf16>
    llvm.store %read, %place {alignment = 2 : i64} : vector<4xi32>, !llvm.ptr<1>
  }
  cuda.return
}

// 1 more than x, so that a test sees which kernel ran.
cuda.kernel @numbers names(["x", "y"]) types([memref<?x?x64xf16>, memref<?x?x64xf16>]) num_inputs(1)
    blocks([[0, 0, 2, 1]]) threads(64) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %xb: i32, %xr: i32, %xc: i32, %xsb: i32, %xsr: i32, %xsc: i32,
     %y: !llvm.ptr<1>, %yb: i32, %yr: i32, %yc: i32, %ysb: i32, %ysr: i32, %ysc: i32):
  %one = arith.constant 1.0 : f16
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %batch = arith.divui %block, %xr : i32
  %row = arith.remui %block, %xr : i32
  %xb0 = arith.muli %batch, %xsb : i32
  %xr0 = arith.muli %row, %xsr : i32
  %x0 = arith.addi %xb0, %xr0 : i32
  %x1 = arith.addi %x0, %thread : i32
  %from = llvm.getelementptr %x[%x1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
  %value = llvm.load %from : !llvm.ptr<1> -> f16
  %more = arith.addf %value, %one : f16
  %yb0 = arith.muli %batch, %ysb : i32
  %yr0 = arith.muli %row, %ysr : i32
  %y0 = arith.addi %yb0, %yr0 : i32
  %y1 = arith.addi %y0, %thread : i32
  %to = llvm.getelementptr %y[%y1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
  llvm.store %more, %to : f16, !llvm.ptr<1>
  cuda.return
}

!rows = memref<?x?x64xf16, strided<[?, ?, 1], offset: ?>>
func.func @pass(%x: !rows {attn.name = "x", attn.dims = ["batch", "rows", 64]},
                %y: !rows {attn.name = "y", attn.dims = ["batch", "rows", 64], attn.result}) {
  host.call @boxes(%x, %y) : !rows, !rows
  return
}
