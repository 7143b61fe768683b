// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK: cuda.kernel @copy names(["x", "y"]) types([memref<?xf32>, memref<?xf32>]) num_inputs(1) blocks({{\[\[}}1, 0, 1, 32]]) threads(32) shared_bytes(0) {
// CHECK: ^bb0(%{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32):
// CHECK: cuda.return
cuda.kernel @copy names(["x", "y"]) types([memref<?xf32>, memref<?xf32>]) num_inputs(1)
    blocks([[1, 0, 1, 32]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %xn: i32, %xs: i32, %y: !llvm.ptr<1>, %yn: i32, %ys: i32):
  %value = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.store %value, %y : f32, !llvm.ptr<1>
  cuda.return
}
func.func @call(%x: memref<8xf32>, %y: memref<8xf32>) {
  // CHECK: host.call @copy
  host.call @copy(%x, %y) : memref<8xf32>, memref<8xf32>
  return
}
