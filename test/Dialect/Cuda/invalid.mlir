// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a name for each of 1 types, found 0}}
cuda.kernel @names_c1 names([]) types([memref<4xf32>]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected types of buffers, found 'i32'}}
cuda.kernel @types_c1 names(["x"]) types([i32]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) {
  cuda.return
}

// -----

// expected-error @+1 {{expected at most 1 num_inputs, found 2}}
cuda.kernel @inputs_c1 names(["x"]) types([memref<4xf32>]) num_inputs(2) blocks([]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected a body with 5 arguments, an address, sizes and strides for each buffer, then tensor maps, found 1}}
cuda.kernel @body_c2 names(["x"]) types([memref<4x?xf32>]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>):
  cuda.return
}

// -----

// expected-error @+1 {{expected a buffer, a dimension, a number of dimensions and a divisor for each of its blocks, and at most a buffer and a dimension more}}
cuda.kernel @blocks_c3 names([]) types([]) num_inputs(0) blocks([[0, 1]]) threads(32) shared_bytes(0) {
  cuda.return
}

// -----

// expected-error @+1 {{expected blocks of one of 0 buffers, found 0}}
cuda.kernel @buffer_c3 names([]) types([]) num_inputs(0) blocks([[0, 1, 1, 1]]) threads(32) shared_bytes(0) {
  cuda.return
}

// -----

// expected-error @+1 {{expected blocks of a dimension of 'memref<4xf32>', found 1}}
cuda.kernel @dim_c3 names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([[0, 1, 1, 1]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected blocks of a dimension of 'memref<4xf32>', found 1}}
cuda.kernel @added_c3 names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([[0, 0, 1, 1, 0, 1]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected blocks of one of 1 buffers, found -1}}
cuda.kernel @added_buffer_c3 names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([[0, 0, 1, 1, -1, 0]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// (C3)
// expected-error @+1 {{expected blocks of 1 to 1 dimensions, found 2}}
cuda.kernel @dims_c3 names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([[0, 0, 2, 1]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected blocks of a positive divisor, found 0}}
cuda.kernel @divisor_c3 names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([[0, 0, 1, 0]]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected a multiple of 32 up to 1024 threads, found 48}}
cuda.kernel @threads_c4 names([]) types([]) num_inputs(0) blocks([]) threads(48) shared_bytes(0) {
  cuda.return
}

// -----

// expected-error @+1 {{expected at most 232448 shared_bytes, found 232449}}
cuda.kernel @shared_c4 names([]) types([]) num_inputs(0) blocks([]) threads(32) shared_bytes(232449) {
  cuda.return
}

// -----

// expected-error @+1 {{expected a body with 6 arguments, an address, sizes and strides for each buffer, then tensor maps, found 5}}
cuda.kernel @map_c2 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[0, 64, 64]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32):
  cuda.return
}

// -----

// expected-error @+1 {{expected a buffer and the sizes of a box for each of its tensor_maps}}
cuda.kernel @map_c5 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([0]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected tensor_maps of one of 1 buffers, found 1}}
cuda.kernel @map_buffer_c5 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[1, 64, 64]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected tensor_maps of numbers, found 'memref<?x64xindex>'}}
cuda.kernel @map_element_c5 names(["x"]) types([memref<?x64xindex>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[0, 64, 64]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected tensor_maps of 1 to 5 dimensions and a size of each, found 1 sizes of 'memref<?x64xf16>'}}
cuda.kernel @map_rank_c5 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[0, 64]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected boxes of 1 to 256 elements in a dimension, found 257}}
cuda.kernel @map_box_c5 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[0, 257, 64]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected boxes whose rows have 128 bytes, found 144}}
cuda.kernel @map_row_c5 names(["x"]) types([memref<?x64xf16>]) num_inputs(1) blocks([]) threads(32) shared_bytes(0)
    tensor_maps([[0, 64, 72]]) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %d: i32, %s: i32, %t: i32, %m: !llvm.ptr):
  cuda.return
}

// -----

// expected-error @+1 {{expected another cuda.kernel as fallback, found @absent}}
cuda.kernel @fallback_c6 names([]) types([]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) fallback(@absent) {
  cuda.return
}

// -----

cuda.kernel @other names(["x"]) types([memref<4xf32>]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) {
^bb0(%x: !llvm.ptr<1>, %n: i32, %s: i32):
  cuda.return
}
// expected-error @+1 {{expected a fallback of the same buffers, found @other}}
cuda.kernel @fallback_buffers_c6 names([]) types([]) num_inputs(0) blocks([]) threads(32) shared_bytes(0) fallback(@other) {
  cuda.return
}
