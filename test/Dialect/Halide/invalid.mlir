// Each rule of the dialect, by op and label.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// func_type: only what Halide has.
halide.pipeline @func_type {
  // expected-error @+1 {{expected i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits, found 'i5'}}
  %in = halide.input "in" [8] : !halide.func<i5, 1>
}

// -----

// pipeline_c1
// expected-error @+1 {{expected at least one halide.output}}
halide.pipeline @pipeline_c1 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
}

// -----

halide.pipeline @pipeline_c2 {
  // expected-note @+1 {{also named here}}
  %in = halide.input "f" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a unique name, found "f"}}
  %f = halide.func "f" [%x] : f32 {
    %v = halide.at %in[%x] : !halide.func<f32, 1>
    halide.yield %v : f32
  }
  halide.output %f [8] : !halide.func<f32, 1>
}

// -----

halide.pipeline @pipeline_c3_split {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-note @+1 {{split here}}
  %xo, %xi = halide.split %x by 8
  // expected-error @+1 {{expected a valid loop handle, found 'x', already split}}
  halide.vectorize %x
}

// -----

// A second handle on the same loop is no way around.
halide.pipeline @pipeline_c3_fuse {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [?, ?] : !halide.func<i32, 2>
  %x, %y = halide.loops %f : !halide.func<i32, 2>
  // expected-note @+1 {{fused here}}
  %xy = halide.fuse %x, %y
  %x1, %y1 = halide.loops %f : !halide.func<i32, 2>
  // expected-error @+1 {{expected a valid loop handle, found 'y', already fused}}
  halide.parallel %y1
}

// -----

halide.pipeline @pipeline_c3_rfactor {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %f = halide.func "f" [] : i32 { halide.yield %c0 : i32 }
  halide.update %f[] over [%r min %c0 extent %c8, %s min %c0 extent %c8] : !halide.func<i32, 0> {
    %old = halide.at %f[] : !halide.func<i32, 0>
    %new = arith.addi %old, %r : i32
    halide.yield %new : i32
  }
  halide.output %f [] : !halide.func<i32, 0>
  %r, %s = halide.loops %f update 0 : !halide.func<i32, 0>
  // expected-note @+1 {{moved by rfactor here}}
  %p = halide.rfactor %r : !halide.func<i32, 1>
  // expected-error @+1 {{expected a valid loop handle, found 's', already moved by rfactor}}
  halide.unroll %s
}

// -----

halide.pipeline @input_c1 {
  // expected-error @+1 {{expected 2 extents, found 1}}
  %in = halide.input "in" [8] : !halide.func<f32, 2>
}

// -----

halide.pipeline @extent_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected a halide.input, found a func}}
  %n = halide.extent %f, 0 : !halide.func<i32, 1>
}

// -----

halide.pipeline @extent_c2 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a dimension below 1, found 1}}
  %n = halide.extent %in, 1 : !halide.func<f32, 1>
}

// -----

halide.pipeline @undef_c1 {
  %f = halide.func "f" [%x] : i32 {
    // expected-error @+1 {{expected a func to yield the result, and no other use}}
    %u = halide.undef : i32
    %v = arith.addi %u, %x : i32
    halide.yield %v : i32
  }
}

// -----

halide.pipeline @store_beside_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%x] : i32 {
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    // expected-error @+1 {{expected an element of an output}}
    %a = halide.store_beside %x, %x to %v : i32, i32
    halide.yield %a : i32
  }
}

// -----

halide.pipeline @store_beside_c2 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %g = halide.func "g" [%x] : i32 {
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    // expected-error @+1 {{expected a func to yield the result, and no other use}}
    %a = halide.store_beside %x, %x to %v : i32, i32
    %b = arith.addi %a, %x : i32
    halide.yield %b : i32
  }
}

// -----

halide.pipeline @store_beside_c2_update {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %g = halide.func "g" [%x] : i32 { halide.yield %x : i32 }
  halide.update %g[%x] : !halide.func<i32, 1> {
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    // expected-error @+1 {{expected a func to yield the result, and no other use}}
    %a = halide.store_beside %x, %x to %v : i32, i32
    halide.yield %a at [%x] : i32
  }
}

// -----

halide.pipeline @store_where_c1 {
  %f = halide.func "f" [%x] : i32 {
    %c0 = arith.constant 0 : i32
    %is_first = arith.cmpi eq, %x, %c0 : i32
    // expected-error @+1 {{expected an update to yield the result, and no other use}}
    %a = halide.store_where %x, %is_first : i32
    halide.yield %a : i32
  }
}

// -----

halide.pipeline @fetch_ahead_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%x] : i32 {
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    // expected-error @+1 {{expected an element of a halide.input}}
    %a = halide.fetch_ahead %x, %v : i32, i32
    halide.yield %a : i32
  }
}

// -----

halide.pipeline @fetch_ahead_locality {
  %in = halide.input "in" [64] : !halide.func<f32, 1>
  %g = halide.func "g" [%x] : f32 {
    %v = halide.at %in[%x] : !halide.func<f32, 1>
    // expected-error @+1 {{attribute 'locality' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 3}}
    %a = halide.fetch_ahead %v, %v locality<0> : f32, f32
    halide.yield %a : f32
  }
}

// -----

halide.pipeline @func_c1_value {
  %f = halide.func "f" [%x] : f32 {
    // expected-error @+1 {{expected a value of type 'f32', found 'i32'}}
    halide.yield %x : i32
  }
}

// -----

halide.pipeline @func_c1_coordinates {
  %f = halide.func "f" [%x] : i32 {
    // expected-error @+1 {{expected the value alone in a pure definition, found coordinates or a condition}}
    halide.yield %x at [%x] : i32
  }
}

// -----

halide.pipeline @func_c1_variables {
  // expected-error @+1 {{expected a body of 1 i32 variables, found ('i64')}}
  %f = "halide.func"() <{name = "f", vars = ["x"]}> ({
  ^bb0(%x: i64):
    halide.yield %x : i64
  }) : () -> !halide.func<i64, 1>
}

// -----

halide.pipeline @update_c1 {
  %c0 = arith.constant 0 : i32
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected 1 minima and extents, found 1 and 0}}
  "halide.update"(%f, %c0) <{operandSegmentSizes = array<i32: 1, 1, 0>, rvars = ["r"], vars = ["x"]}> ({
  ^bb0(%x: i32, %r: i32):
    halide.yield %x : i32
  }) : (!halide.func<i32, 1>, i32) -> ()
}

// -----

halide.pipeline @update_c2_count {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.update %f[%x] : !halide.func<i32, 2> {
    // expected-error @+1 {{expected 2 coordinates, found 1}}
    halide.yield %x : i32
  }
}

// -----

halide.pipeline @update_c2_place {
  %c0 = arith.constant 0 : i32
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.update %f[%x] : !halide.func<i32, 1> {
    // expected-error @+1 {{expected pure variable "x" to be one of the coordinates, found it in 0 places}}
    halide.yield %x at [%c0] : i32
  }
}

// -----

halide.pipeline @update_c2_recursive {
  %c1 = arith.constant 1 : i32
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.update %f[%x] : !halide.func<i32, 1> {
    %next = arith.addi %x, %c1 : i32
    // expected-error @+1 {{expected pure variable "x" as coordinate 0, its place in the update}}
    %v = halide.at %f[%next] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
}

// -----

halide.pipeline @update_c3_input {
  %c1 = arith.constant 1 : i32
  %in = halide.input "in" [8] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a halide.func, found another func}}
  halide.update %in[%x] : !halide.func<i32, 1> {
    halide.yield %x : i32
  }
}

// -----

halide.pipeline @update_c3_read {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-note @+1 {{read here}}
  %g = halide.func "g" [%x] : i32 {
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
  // expected-error @+1 {{expected the update before the func is read by another definition}}
  halide.update %f[%x] : !halide.func<i32, 1> {
    halide.yield %x : i32
  }
}

// -----

halide.pipeline @extern_c1 {
  // expected-error @+1 {{expected 1 variables, found 2}}
  %e = halide.extern "e" @c_e() ["x", "y"] : () -> !halide.func<f32, 1>
}

// -----

halide.pipeline @output_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected 1 extents, found 2}}
  halide.output %f [8, 8] : !halide.func<i32, 1>
}

// -----

halide.pipeline @output_c2 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.output %in [8] : !halide.func<f32, 1>
}

// -----

halide.pipeline @at_c1 {
  %in = halide.input "in" [8, 8] : !halide.func<f32, 2>
  %f = halide.func "f" [%x] : f32 {
    // expected-error @+1 {{expected 2 coordinates, found 1}}
    %v = halide.at %in[%x] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
}

// -----

halide.pipeline @at_c1_type {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  %f = halide.func "f" [%x] : f64 {
    // expected-error @+1 {{the result is the element type}}
    %v = "halide.at"(%in, %x) : (!halide.func<f32, 1>, i32) -> f64
    halide.yield %v : f64
  }
}

// -----

halide.pipeline @loops_c1_count {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected 2 loops, found 1}}
  %x = halide.loops %f : !halide.func<i32, 2>
}

// -----

halide.pipeline @loops_c1_update {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected an update of the func, found none of index 0}}
  %x = halide.loops %f update 0 : !halide.func<i32, 1>
}

// -----

halide.pipeline @split_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive factor of at most 2147483647, found 0}}
  %xo, %xi = halide.split %x by 0
}

// -----

halide.pipeline @fuse_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%y] : i32 { halide.yield %y : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  %y = halide.loops %g : !halide.func<i32, 1>
  // expected-error @+1 {{expected loops of one stage, found 'y' of another}}
  %xy = halide.fuse %x, %y
}

// -----

halide.pipeline @reorder_c1 {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  %x, %y = halide.loops %f : !halide.func<i32, 2>
  // expected-error @+1 {{expected each loop once, found 'y' twice}}
  halide.reorder %y, %y
}

// -----

halide.pipeline @compute_root_c1 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.compute_root %in : !halide.func<f32, 1>
}

// -----

halide.pipeline @compute_at_c1 {
  %in = halide.input "in" [8] : !halide.func<i32, 1>
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.compute_at %in, %x : !halide.func<i32, 1>
}

// -----

halide.pipeline @compute_at_c2 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a loop of another func, found 'x', the func's own}}
  halide.compute_at %f, %x : !halide.func<i32, 1>
}

// -----

halide.pipeline @store_at_c3 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%y] : i32 { halide.yield %y : i32 }
  %y = halide.loops %g : !halide.func<i32, 1>
  // expected-note @+1 {{an output here}}
  halide.output %f [8] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a func that is not an output}}
  halide.store_at %f, %y : !halide.func<i32, 1>
}

// -----

halide.pipeline @compute_with_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a loop of another func, found 'x', the func's own}}
  halide.compute_with %f, %x : !halide.func<i32, 1>
}

// -----

halide.pipeline @store_in_c1 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.store_in %in, stack : !halide.func<f32, 1>
}

// -----

halide.pipeline @bound_extent_c1_dim {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected a dimension below 1, found 1}}
  halide.bound_extent %f, 1 extent 8 : !halide.func<i32, 1>
}

// -----

halide.pipeline @align_storage_c1_size {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected a positive size of at most 2147483647, found 0}}
  halide.align_storage %f, 0 to 0 : !halide.func<i32, 1>
}

// -----

halide.pipeline @bound_storage_c2 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.bound_storage %in, 0 extent 8 : !halide.func<f32, 1>
}

// -----

halide.pipeline @reorder_storage_c1 {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected each of the dimensions below 2 once}}
  halide.reorder_storage %f [1, 1] : !halide.func<i32, 2>
}

// -----

halide.pipeline @reorder_storage_c2 {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  // expected-error @+1 {{expected a func, found an input}}
  halide.reorder_storage %in [0] : !halide.func<f32, 1>
}

// -----

halide.pipeline @atomic_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected an update of the func, found none of index 2}}
  halide.atomic %f update 2 : !halide.func<i32, 1>
}

// -----

halide.pipeline @rfactor_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a reduction loop of an update, found 'x'}}
  %p = halide.rfactor %x : !halide.func<i32, 2>
}

// -----

halide.pipeline @rfactor_c2 {
  %c0 = arith.constant 0 : i32
  %f = halide.func "f" [] : i32 { halide.yield %c0 : i32 }
  halide.update %f[] over [%r min %c0 extent %c0] : !halide.func<i32, 0> {
    halide.yield %r : i32
  }
  %r = halide.loops %f update 0 : !halide.func<i32, 0>
  // expected-error @+1 {{expected result '!halide.func<i32, 1>', found '!halide.func<i32, 2>'}}
  %p = halide.rfactor %r : !halide.func<i32, 2>
}

// -----

halide.pipeline @specialize_c1 {
  %true = arith.constant true
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  // expected-error @+1 {{expected 1 loops, found 2}}
  %x, %y = halide.specialize %f when %true : !halide.func<i32, 1>
}

// -----

halide.pipeline @specialize_c2 {
  %true = arith.constant true
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-note @+1 {{split here}}
  %xo, %xi = halide.split %x by 8
  // expected-error @+1 {{expected a stage with loops neither split nor fused before}}
  %s = halide.specialize %f when %true : !halide.func<i32, 1>
}

// -----

halide.pipeline @prefetch_c1 {
  %in = halide.input "in" [8] : !halide.func<i32, 1>
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive offset of at most 2147483647, found 0}}
  halide.prefetch %in, %x offset 0 : !halide.func<i32, 1>
}

// -----

halide.pipeline @gpu_single_thread_c1 {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [64] : !halide.func<i32, 1>
  // expected-error @+1 {{expected an update of the func, found none of index 0}}
  halide.gpu_single_thread %f update 0 : !halide.func<i32, 1>
}

// -----

// expected-error @+1 {{expected a name of letters, digits and _, found "../f"}}
halide.pipeline @"../f" {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [64] : !halide.func<i32, 1>
}
