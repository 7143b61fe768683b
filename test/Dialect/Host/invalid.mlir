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

func.func @copy_to_host_c1(%m: memref<4x?xi32, strided<[?, 1]>>) {
  // expected-error @+1 {{expected a buffer whose layout is the identity, found 'memref<4x?xi32, strided<[?, 1]>>'}}
  host.copy_to_host %m : memref<4x?xi32, strided<[?, 1]>>
  return
}
