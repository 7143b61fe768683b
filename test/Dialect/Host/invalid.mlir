// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @call_c1(%m: memref<8xf32>) {
  // expected-error @+1 {{expected a kernel, found none named nothing}}
  host.call @nothing(%m) : memref<8xf32>
  return
}

// -----

halide.pipeline @pipeline {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [64, ?] : !halide.func<i32, 2>
}
func.func @call_c2_count() {
  // expected-error @+1 {{expected 1 buffers, found 0}}
  "host.call"() <{callee = @pipeline}> : () -> ()
  return
}

// -----

// The memref's last dimension is the func's first.
halide.pipeline @pipeline {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [64, ?] : !halide.func<i32, 2>
}
func.func @call_c2_extent(%m: memref<64x32xi32>) {
  // expected-error @+1 {{expected buffer 0 to be 'memref<?x64xi32>', found 'memref<64x32xi32>'}}
  host.call @pipeline(%m) : memref<64x32xi32>
  return
}

// -----

func.func @load_c1(%m: memref<4x?xi32>, %i: index) {
  // expected-error @+1 {{expected 2 indices, found 1}}
  %e = host.load %m[%i] : memref<4x?xi32>
  return
}

// -----

halide.pipeline @pipeline {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
func.func @call_c3_space(%m: memref<?xi32, 3>) {
  // expected-error @+1 {{expected buffer 0 to be strided and in the default memory space, found 'memref<?xi32, 3>'}}
  host.call @pipeline(%m) : memref<?xi32, 3>
  return
}

// -----

halide.pipeline @pipeline {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
func.func @call_c3_layout(%m: memref<?xi32, affine_map<(d0) -> (d0 mod 4)>>) {
  // expected-error @+1 {{expected buffer 0 to be strided and in the default memory space}}
  host.call @pipeline(%m) : memref<?xi32, affine_map<(d0) -> (d0 mod 4)>>
  return
}

// -----

halide.pipeline @pipeline {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
func.func @call_c3_stride(%m: memref<?xi32, strided<[2]>>) {
  // expected-error @+1 {{expected buffer 0 to have stride 1 in its last dimension, found 'memref<?xi32, strided<[2]>>'}}
  host.call @pipeline(%m) : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @require_c1(%m: memref<?xi32>, %c: i1, %n: index) {
  // expected-error @+1 {{expected 2 numbers, found 1}}
  host.require %c, "expected {} before {}"(%n)
  return
}
