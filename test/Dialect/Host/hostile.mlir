// Calls of what is no kernel, and ops where and of what no host function has them.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func private @g(memref<?xf32>) -> i32
func.func @call_of_a_function(%m: memref<?xf32>) {
  // expected-error @+1 {{expected a kernel, found none named g}}
  host.call @g(%m) : memref<?xf32>
  return
}

// -----

memref.global "private" constant @g : memref<4xf32> = dense<1.0>
func.func @call_of_a_constant(%m: memref<?xf32>) {
  // expected-error @+1 {{expected a kernel, found none named g}}
  host.call @g(%m) : memref<?xf32>
  return
}

// -----

halide.pipeline @k {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %m = memref.alloc() : memref<4xi32>
  // expected-error @+1 {{'host.call' op expects parent op to be one of 'func.func, scf.for, scf.if'}}
  host.call @k(%m) : memref<4xi32>
}

// -----

halide.pipeline @k {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
%m = memref.alloc() : memref<4xi32>
// expected-error @+1 {{'host.call' op expects parent op to be one of 'func.func, scf.for, scf.if'}}
host.call @k(%m) : memref<4xi32>

// -----

halide.pipeline @k {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
func.func @condition_as_a_buffer(%m: memref<?xi32>, %c: i1) {
  // expected-error @+1 {{operand #1 must be variadic of memref of any type values, but got 'i1'}}
  "host.call"(%m, %c) <{callee = @k, operandSegmentSizes = array<i32: 2, 0>}> : (memref<?xi32>, i1) -> ()
  return
}

// -----

halide.pipeline @k {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
}
func.func @elements_of_another_type(%m: memref<?xf32>) {
  // expected-error @+1 {{expected buffer 0 to be 'memref<?xi32>', found 'memref<?xf32>'}}
  host.call @k(%m) : memref<?xf32>
  return
}

// -----

func.func @no_callee() {
  // expected-error @+1 {{requires attribute 'callee'}}
  "host.call"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  return
}

// -----

func.func @load_of_vectors(%m: memref<?xvector<4xf32>>, %i: index) {
  // expected-error @+1 {{'buffer' must be memref of integer or index or floating-point values}}
  %e = host.load %m[%i] : memref<?xvector<4xf32>>
  return
}

// -----

func.func @load_as_another_type(%m: memref<?xf32>, %i: index) {
  // expected-error @+1 {{failed to verify that the result is the element type}}
  %e = "host.load"(%m, %i) : (memref<?xf32>, index) -> i32
  return
}

// -----

func.func @message_of_a_number(%c: i1) {
  // expected-error @+1 {{Invalid attribute `message` in property conversion: 3 : i32}}
  "host.require"(%c) <{message = 3 : i32}> : (i1) -> ()
  return
}

// -----

// What a saved text may still say.
func.func @call_of_before(%m: memref<?xf32>) {
  // expected-error @+1 {{custom op 'halide.call' is unknown}}
  halide.call @k(%m) : memref<?xf32>
  return
}
