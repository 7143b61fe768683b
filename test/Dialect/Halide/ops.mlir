// Every op in text and in bytecode.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt --allow-bytecode | FileCheck %s

// CHECK-LABEL: halide.pipeline @blur
halide.pipeline @blur {
  // CHECK: %[[IN:.*]] = halide.input "in" [64, ?] : <f32, 2>
  %in = halide.input "in" [64, ?] : !halide.func<f32, 2>
  // CHECK: %[[N:.*]] = halide.extent %[[IN]], 1 : <f32, 2>
  %n = halide.extent %in, 1 : !halide.func<f32, 2>
  %c1 = arith.constant 1 : i32
  %last = arith.subi %n, %c1 overflow<nsw> : i32
  // CHECK: %[[F:.*]] = halide.func "blur" [%[[X:.*]], %[[Y:.*]]] : f32 {
  // CHECK: halide.at %[[IN]][%[[X]], %{{.*}}] : <f32, 2>
  %f = halide.func "blur" [%x, %y] : f32 {
    %y1 = arith.addi %y, %c1 : i32
    %next = arith.minsi %y1, %last : i32
    %a = halide.at %in[%x, %y] : !halide.func<f32, 2>
    %b = halide.at %in[%x, %next] : !halide.func<f32, 2>
    %v = arith.addf %a, %b : f32
    // CHECK: halide.yield %{{.*}} : f32
    halide.yield %v : f32
  }
  // CHECK: halide.output %[[F]] [64, ?] : <f32, 2>
  halide.output %f [64, ?] : !halide.func<f32, 2>
  // CHECK: %[[LX:.*]], %[[LY:.*]] = halide.loops %[[F]] : <f32, 2>
  %lx, %ly = halide.loops %f : !halide.func<f32, 2>
  // CHECK: %[[XO:.*]], %[[XI:.*]] = halide.split %[[LX]] by 32 tail guard_with_if
  %xo, %xi = halide.split %lx by 32 tail guard_with_if
  // CHECK: halide.split %[[XI]] by 8{{$}}
  %xio, %xii = halide.split %xi by 8
  // CHECK: halide.reorder
  halide.reorder %xii, %xio, %xo, %ly
  // CHECK: halide.vectorize
  halide.vectorize %xii
  // CHECK: halide.unroll
  halide.unroll %xio
  // CHECK: %[[FUSED:.*]] = halide.fuse %[[XO]], %[[LY]]
  %fused = halide.fuse %xo, %ly
  // CHECK: halide.parallel %[[FUSED]]
  halide.parallel %fused
}

// CHECK-LABEL: halide.pipeline @sum
halide.pipeline @sum {
  %in = halide.input "in" [?, ?] : !halide.func<f32, 2>
  %c0 = arith.constant 0 : i32
  %n = halide.extent %in, 0 : !halide.func<f32, 2>
  %zero = arith.constant 0.0 : f32
  // CHECK: halide.func "sum" [%x{{.*}}] : f32 {
  %f = halide.func "sum" [%x] : f32 {
    halide.yield %zero : f32
  }
  // CHECK: halide.update %[[F:.*]][%[[X:.*]]] over [%[[R:.*]] min %{{.*}} extent %{{.*}}] : <f32, 1> {
  halide.update %f[%x] over [%r min %c0 extent %n] : !halide.func<f32, 1> {
    %old = halide.at %f[%x] : !halide.func<f32, 1>
    %v = halide.at %in[%r, %x] : !halide.func<f32, 2>
    %new = arith.addf %old, %v : f32
    %some = arith.cmpi sle, %r, %x : i32
    // CHECK: halide.yield %{{.*}} at [%[[X]]] where %{{.*}} : f32
    halide.yield %new at [%x] where %some : f32
  }
  // CHECK: halide.update %[[F]][] : <f32, 1> {
  halide.update %f[] : !halide.func<f32, 1> {
    halide.yield %zero at [%c0] : f32
  }
  // CHECK: halide.extern "tail" @c_tail(%[[F]]) ["x"] : (!halide.func<f32, 1>) -> !halide.func<f32, 1>
  %e = halide.extern "tail" @c_tail(%f) ["x"] : (!halide.func<f32, 1>) -> !halide.func<f32, 1>
  %out = halide.func "out" [%i] : f32 {
    %v = halide.at %e[%i] : !halide.func<f32, 1>
    // CHECK: halide.strict_float
    %s = halide.strict_float %v : f32
    // CHECK: halide.likely
    %l = halide.likely %s : f32
    // CHECK: %[[ELEMENT:.*]] = halide.at %[[IN]]
    %near = halide.at %in[%i, %c0] : !halide.func<f32, 2>
    // CHECK: halide.fetch_ahead %{{.*}}, %[[ELEMENT]] : f32, f32
    %a0 = halide.fetch_ahead %l, %near : f32, f32
    // CHECK: halide.fetch_ahead %{{.*}}, %[[ELEMENT]] locality<3> : f32, f32
    %a = halide.fetch_ahead %a0, %near locality<3> : f32, f32
    // CHECK: %[[PAIR:.*]] = halide.round_bf16_pair %{{.*}}, %[[ELEMENT]]
    %pair = halide.round_bf16_pair %a, %near
    // CHECK: halide.exp2_bf16 %[[ELEMENT]]
    %power = halide.exp2_bf16 %near
    // CHECK: halide.dot_bf16_pair %{{.*}}, %[[PAIR]], %[[PAIR]]
    %dot = halide.dot_bf16_pair %a, %pair, %pair
    // CHECK: halide.make_bf16_pair %{{.*}}, %{{.*}}
    %bits = arith.trunci %i : i32 to i16
    %made = halide.make_bf16_pair %bits, %bits
    // CHECK: %[[QUAD:.*]] = halide.make_i8_quad %[[BYTE:.*]], %[[BYTE]], %[[BYTE]], %[[BYTE]]
    %byte = arith.trunci %i : i32 to i8
    %quad = halide.make_i8_quad %byte, %byte, %byte, %byte
    // CHECK: halide.dot_i8_quad %{{.*}}, %[[QUAD]], %[[QUAD]]
    %sum = halide.dot_i8_quad %i, %quad, %quad
    // CHECK: halide.dot_bf16_tiles %{{.*}}, %[[PAIR]], %[[PAIR]] rows %{{.*}} depth %{{.*}} : i32
    %tiles = halide.dot_bf16_tiles %a, %pair, %pair rows %n depth %n : i32
    // CHECK: halide.unsafe_promise_clamped
    %k = halide.unsafe_promise_clamped %i, %c0, %n
    // CHECK: halide.mod
    %m = halide.mod %k, %n : i32
    halide.yield %a : f32
  }
  halide.output %out [?] : !halide.func<f32, 1>
  // CHECK: %[[X1:.*]], %[[R1:.*]] = halide.loops %[[F]] update 0 : <f32, 1>
  %x1, %r1 = halide.loops %f update 0 : !halide.func<f32, 1>
  %ro, %ri = halide.split %r1 by 8
  // CHECK: %[[INTM:.*]] = halide.rfactor %{{.*}} : <f32, 2>
  %intm = halide.rfactor %ro : !halide.func<f32, 2>
  // CHECK: halide.loops %[[INTM]] update 0 : <f32, 2>
  %ix, %iro, %iri = halide.loops %intm update 0 : !halide.func<f32, 2>
  %i = halide.loops %out : !halide.func<f32, 1>
  %wide = arith.cmpi sge, %n, %c0 : i32
  // CHECK: halide.specialize %{{.*}} when %{{.*}} : <f32, 1>
  %si = halide.specialize %out when %wide : !halide.func<f32, 1>
  // CHECK: halide.compute_root
  halide.compute_root %e : !halide.func<f32, 1>
  // CHECK: halide.store_root
  halide.store_root %f : !halide.func<f32, 1>
  // CHECK: halide.compute_at
  halide.compute_at %intm, %x1 : !halide.func<f32, 2>
  // CHECK: halide.store_at
  halide.store_at %intm, %x1 : !halide.func<f32, 2>
  // CHECK: halide.compute_with %[[F]] update 0, %{{.*}} : <f32, 1>
  halide.compute_with %f update 0, %i : !halide.func<f32, 1>
  // CHECK: halide.store_in %[[F]], stack
  halide.store_in %f, stack : !halide.func<f32, 1>
  // CHECK: halide.bound_extent %[[F]], 0 extent 8
  halide.bound_extent %f, 0 extent 8 : !halide.func<f32, 1>
  // CHECK: halide.bound_storage %[[F]], 0 extent 8
  halide.bound_storage %f, 0 extent 8 : !halide.func<f32, 1>
  // CHECK: halide.align_bounds %[[F]], 0 to 8
  halide.align_bounds %f, 0 to 8 : !halide.func<f32, 1>
  // CHECK: halide.align_storage %[[F]], 0 to 8
  halide.align_storage %f, 0 to 8 : !halide.func<f32, 1>
  // CHECK: halide.reorder_storage %[[INTM]] [1, 0]
  halide.reorder_storage %intm [1, 0] : !halide.func<f32, 2>
  // CHECK: halide.atomic %[[F]] update 0
  halide.atomic %f update 0 : !halide.func<f32, 1>
  // CHECK: halide.gpu_single_thread %[[F]] update 1
  halide.gpu_single_thread %f update 1 : !halide.func<f32, 1>
  // CHECK: halide.allow_race_conditions %[[F]] update 1
  halide.allow_race_conditions %f update 1 : !halide.func<f32, 1>
  // CHECK: halide.never_partition %[[F]]
  halide.never_partition %f : !halide.func<f32, 1>
  // CHECK: halide.prefetch %{{.*}}, %{{.*}} offset 2
  halide.prefetch %in, %i offset 2 : !halide.func<f32, 2>
  // CHECK: halide.gpu_block
  halide.gpu_block %i
  // CHECK: halide.gpu_thread
  halide.gpu_thread %si
}

// Loops of one func write two outputs.
// CHECK-LABEL: halide.pipeline @two_outputs
halide.pipeline @two_outputs {
  %f = halide.func "f" [%x] : f32 {
    %zero = arith.constant 0.0 : f32
    halide.yield %zero : f32
  }
  %g = halide.func "g" [%x] : f32 {
    %two = arith.constant 2 : i32
    %is_small = arith.cmpi slt, %x, %two : i32
    %y = arith.sitofp %x : i32 to f32
    // CHECK: %[[ELEMENT:.*]] = halide.at
    %v = halide.at %f[%x] : !halide.func<f32, 1>
    // CHECK: halide.store_beside %[[Y:.*]], %[[Y]] to %[[ELEMENT]] where %{{.*}} : f32, f32
    %a = halide.store_beside %y, %y to %v where %is_small : f32, f32
    halide.yield %a : f32
  }
  // CHECK: halide.output %g
  // CHECK: halide.output %f
  halide.output %g [?] : !halide.func<f32, 1>
  halide.output %f [?] : !halide.func<f32, 1>
}

// An update writes some elements of an output, the others stay.
// CHECK-LABEL: halide.pipeline @some_written
halide.pipeline @some_written {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %rows = halide.func "rows" [%x] : f32 {
    // CHECK: %[[NOTHING:.*]] = halide.undef : f32
    // CHECK: halide.yield %[[NOTHING]] : f32
    %u = halide.undef : f32
    halide.yield %u : f32
  }
  halide.update %rows[] over [%r min %c0 extent %c2] : !halide.func<f32, 1> {
    %one = arith.constant 1.0 : f32
    halide.yield %one at [%r] : f32
  }
  halide.output %rows [?] : !halide.func<f32, 1>
}

// Names that clash in the text are kept beside it.
// CHECK-LABEL: halide.pipeline @names
halide.pipeline @names {
  // CHECK: %x = halide.func "x" [%x_{{[0-9]+}} "x"] : i32 {
  %f = halide.func "x" [%x] : i32 {
    halide.yield %x : i32
  }
  halide.output %f [8] : !halide.func<i32, 1>
}

// An update stores where a condition holds.
// CHECK-LABEL: halide.pipeline @some_rows
halide.pipeline @some_rows {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %f = halide.func "f" [%x] : i32 {
    halide.yield %x : i32
  }
  halide.update %f[] over [%r min %c0 extent %c16] : !halide.func<i32, 1> {
    %is_first = arith.cmpi eq, %r, %c0 : i32
    // CHECK: %[[STORED:.*]] = halide.store_where %{{.*}}, %{{.*}} : i32
    // CHECK: halide.yield %[[STORED]] at
    %stored = halide.store_where %c16, %is_first : i32
    halide.yield %stored at [%r] : i32
  }
  halide.output %f [16] : !halide.func<i32, 1>
}

// What is left to a sum after one rfactor is the loop that came out of it: of that, another takes.
// CHECK-LABEL: halide.pipeline @halves
halide.pipeline @halves {
  %in = halide.input "in" [16] : !halide.func<f32, 1>
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0.0 : f32
  %f = halide.func "f" [%x] : f32 {
    halide.yield %zero : f32
  }
  halide.update %f[%x] over [%r min %c0 extent %c16] : !halide.func<f32, 1> {
    %a = halide.at %f[%x] : !halide.func<f32, 1>
    %b = halide.at %in[%r] : !halide.func<f32, 1>
    %s = arith.addf %a, %b : f32
    halide.yield %s : f32
  }
  halide.output %f [4] : !halide.func<f32, 1>
  %x, %r = halide.loops %f update 0 : !halide.func<f32, 1>
  %ro, %ri = halide.split %r by 8
  %eight = halide.rfactor %ri : !halide.func<f32, 2>
  %rio, %rii = halide.split %ri by 4
  // CHECK: halide.rfactor
  // CHECK: %[[FOUR:.*]] = halide.rfactor
  %four = halide.rfactor %rii : !halide.func<f32, 2>
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = halide.loops %[[FOUR]] update 0 : <f32, 2>
  %fx, %frii, %frio = halide.loops %four update 0 : !halide.func<f32, 2>
  halide.unroll %frio
}
