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
// CHECK: cuda.kernel @sum {{.*}} blocks({{\[\[}}0, 0, 1, 64, 1, 0]])
cuda.kernel @sum names(["x", "y"]) types([memref<?xf32>, memref<4xf32>]) num_inputs(2)
    blocks([[0, 0, 1, 64, 1, 0]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %xn: i32, %xs: i32, %y: !llvm.ptr<1>, %yn: i32, %ys: i32):
  cuda.return
}
func.func @call(%x: memref<8xf32>, %y: memref<8xf32>) {
  // CHECK: host.call @copy
  host.call @copy(%x, %y) : memref<8xf32>, memref<8xf32>
  return
}

// CHECK: cuda.kernel @boxes {{.*}} shared_bytes(65536) tensor_maps({{\[\[}}0, 64, 64]]) fallback(@rows) {
cuda.kernel @boxes names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32)
    shared_bytes(65536) tensor_maps([[0, 64, 64]]) fallback(@rows) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %map: !llvm.ptr):
  // CHECK: cuda.shared_memory : <3>
  %shared = cuda.shared_memory : !llvm.ptr<3>
  cuda.return
}
cuda.kernel @rows names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32):
  cuda.return
}
