// Handles that no schedule writes, and numbers beyond 32 bits.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

halide.pipeline @select_loop {
  %c = arith.constant true
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [?, ?] : !halide.func<i32, 2>
  %x, %y = halide.loops %f : !halide.func<i32, 2>
  %either = arith.select %c, %x, %y : !halide.loop
  // expected-error @+1 {{expected a loop of halide.loops, split, fuse or specialize, found a value of arith.select}}
  %o, %i = halide.split %either by 8
}

// -----

halide.pipeline @select_level {
  %c = arith.constant true
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%x, %y] : i32 {
    %v = halide.at %f[%x, %y] : !halide.func<i32, 2>
    halide.yield %v : i32
  }
  halide.output %g [?, ?] : !halide.func<i32, 2>
  %x, %y = halide.loops %g : !halide.func<i32, 2>
  %either = arith.select %c, %x, %y : !halide.loop
  // expected-error @+1 {{expected a loop of halide.loops, split, fuse or specialize, found a value of arith.select}}
  halide.compute_at %f, %either : !halide.func<i32, 2>
}

// -----

halide.pipeline @select_func {
  %c = arith.constant true
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  %g = halide.func "g" [%x] : i32 { halide.yield %x : i32 }
  %either = arith.select %c, %f, %g : !halide.func<i32, 1>
  // expected-error @+1 {{expected a func of halide.input, func, extern or rfactor, found a value of arith.select}}
  halide.output %either [?] : !halide.func<i32, 1>
}

// -----

func.func @func_of_a_block(%f: !halide.func<i32, 0>) {
  // expected-error @+1 {{expected a func of halide.input, func, extern or rfactor, found a value of a block}}
  %v = halide.at %f[] : !halide.func<i32, 0>
  return
}

// -----

func.func private @make() -> !halide.loop
halide.pipeline @loop_of_a_call {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %x = func.call @make() : () -> !halide.loop
  // expected-error @+1 {{expected a loop of halide.loops, split, fuse or specialize, found a value of func.call}}
  halide.parallel %x
}

// -----

halide.pipeline @split_of_itself {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected halide.split before the use of its result}}
  %o, %i = halide.split %i by 8
}

// -----

halide.pipeline @fuse_in_a_circle {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [?, ?] : !halide.func<i32, 2>
  %x, %y = halide.loops %f : !halide.func<i32, 2>
  // expected-error @+1 {{expected halide.fuse before the use of its result}}
  %a = halide.fuse %x, %b
  %b = halide.fuse %y, %a
}

// -----

halide.pipeline @func_that_reads_itself {
  %f = halide.func "f" [%x] : i32 {
    // expected-error @+1 {{expected halide.func before the use of its result}}
    %v = halide.at %f[%x] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
  halide.output %f [?] : !halide.func<i32, 1>
}

// -----

halide.pipeline @update_behind_its_loops {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected 0 loops, found 1}}
  %x = halide.loops %f update 0 : !halide.func<i32, 1>
  "halide.update"(%f) <{operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%y: i32):
    halide.yield %y : i32
  }) : (!halide.func<i32, 1>) -> ()
}

// -----

halide.pipeline @split_by_more_than_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive factor of at most 2147483647, found 4294967297}}
  %o, %i = halide.split %x by 4294967297
}

// -----

halide.pipeline @extent_of_more_than_32_bits {
  // expected-error @+1 {{expected extents of at least 0 and at most 2147483647, found 4294967297}}
  %in = halide.input "in" [4294967297] : !halide.func<f32, 1>
}

// -----

halide.pipeline @bound_of_more_than_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive size of at most 2147483647, found 4294967296}}
  halide.bound_extent %f, 0 extent 4294967296 : !halide.func<i32, 1>
}

// -----

halide.pipeline @unroll_without_end {
  %f = halide.func "f" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %f [?, ?] : !halide.func<i32, 2>
  %x, %y = halide.loops %f : !halide.func<i32, 2>
  %xo, %xi = halide.split %x by 1024
  %yo, %yi = halide.split %y by 1024
  halide.vectorize %xi
  // expected-error @+1 {{expected at most 65536 copies of a stage's value in vectors and unrolled loops, found more}}
  halide.unroll %yi
}

// -----

halide.pipeline @unroll_an_output {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [2147483647] : !halide.func<i32, 1>
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected at most 65536 copies of a stage's value in vectors and unrolled loops, found more}}
  halide.unroll %x
}

// -----

halide.pipeline @unroll_a_sum {
  %c0 = arith.constant 0 : i32
  %many = arith.constant 1000000000 : i32
  %f = halide.func "f" [] : i32 { halide.yield %c0 : i32 }
  halide.update %f[] over [%r min %c0 extent %many] : !halide.func<i32, 0> {
    halide.yield %r : i32
  }
  halide.output %f [] : !halide.func<i32, 0>
  %r = halide.loops %f update 0 : !halide.func<i32, 0>
  // expected-error @+1 {{expected at most 65536 copies of a stage's value in vectors and unrolled loops, found more}}
  halide.unroll %r
}

// -----

halide.pipeline @prefetch_beyond_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  %x = halide.loops %f : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive offset of at most 2147483647, found 4294967297}}
  halide.prefetch %f, %x offset 4294967297 : !halide.func<i32, 1>
}

// -----

halide.pipeline @bounds_of_a_negative_size {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a positive size of at most 2147483647, found -4294967295}}
  halide.align_bounds %f, 0 to -4294967295 : !halide.func<i32, 1>
}

// -----

halide.pipeline @dimension_beyond_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a dimension below 1, found 4294967296}}
  halide.align_storage %f, 4294967296 to 8 : !halide.func<i32, 1>
}

// -----

halide.pipeline @order_beyond_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected each of the dimensions below 1 once}}
  halide.reorder_storage %f [4294967296] : !halide.func<i32, 1>
}

// -----

halide.pipeline @update_beyond_32_bits {
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected an update of the func, found none of index 4294967296}}
  halide.atomic %f update 4294967296 : !halide.func<i32, 1>
}

// -----

halide.pipeline @extent_of_a_dimension_beyond_32_bits {
  %in = halide.input "in" [8] : !halide.func<i32, 1>
  // expected-error @+1 {{expected a dimension below 1, found 4294967296}}
  %e = halide.extent %in, 4294967296 : !halide.func<i32, 1>
}

// -----

halide.pipeline @rfactor_of_a_negative_update {
  %c0 = arith.constant 0 : i32
  %n = arith.constant 8 : i32
  %f = halide.func "f" [%x] : i32 { halide.yield %x : i32 }
  halide.update %f[%x] over [%r min %c0 extent %n] : !halide.func<i32, 1> {
    halide.yield %r : i32
  }
  halide.output %f [?] : !halide.func<i32, 1>
  // expected-error @+1 {{expected an update of the func, found none of index -1}}
  %x, %r = halide.loops %f update -1 : !halide.func<i32, 1>
  %p = halide.rfactor %r : !halide.func<i32, 2>
  %a, %b, %c = halide.loops %p update 0 : !halide.func<i32, 2>
  halide.unroll %c
}
