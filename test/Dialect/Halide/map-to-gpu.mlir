// RUN: attn-opt %s --halide-map-to-gpu | FileCheck %s

// Drops the CPU schedule; stored funcs get threads, reductions stay within one thread.
// CHECK-LABEL: halide.pipeline @rows
halide.pipeline @rows {
  %c0 = arith.constant 0 : i32
  %in = halide.input "in" [?, ?, ?] : !halide.func<f32, 3>
  %n = halide.extent %in, 0 : !halide.func<f32, 3>
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[SUM:.*]] = halide.func "sum"
  %sum = halide.func "sum" [%y, %z] : f32 { halide.yield %zero : f32 }
  halide.update %sum[%y, %z] over [%r min %c0 extent %n] : !halide.func<f32, 2> {
    %old = halide.at %sum[%y, %z] : !halide.func<f32, 2>
    %v = halide.at %in[%r, %y, %z] : !halide.func<f32, 3>
    %new = arith.addf %old, %v : f32
    halide.yield %new : f32
  }
  // CHECK: %[[HALF:.*]] = halide.func "half"
  %half = halide.func "half" [%y, %z] : f32 {
    %v = halide.at %sum[%y, %z] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  // CHECK: %[[OUT:.*]] = halide.func "out"
  %out = halide.func "out" [%x, %y, %z] : f32 {
    %v = halide.at %half[%y, %z] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %out [?, ?, ?] : !halide.func<f32, 3>
  // CHECK-NOT: halide.vectorize
  // CHECK-NOT: halide.compute_at
  %x, %y, %z = halide.loops %out : !halide.func<f32, 3>
  %xo, %xi = halide.split %x by 16
  halide.vectorize %xi
  halide.compute_at %sum, %y : !halide.func<f32, 2>
  halide.compute_at %half, %y : !halide.func<f32, 2>

  // CHECK: halide.compute_root %[[SUM]]
  // CHECK: halide.loops %[[SUM]] : <f32, 2>
  // CHECK: %[[Y:.*]], %[[Z:.*]], %[[R:.*]] = halide.loops %[[SUM]] update 0
  // CHECK: %[[YO:.*]], %[[YI:.*]] = halide.split %[[Y]] by 32 tail guard_with_if
  // CHECK: %[[ZO:.*]], %[[ZI:.*]] = halide.split %[[Z]] by 8 tail guard_with_if
  // CHECK: halide.reorder %[[R]], %[[YI]], %[[ZI]], %[[YO]], %[[ZO]]
  // CHECK: %[[BLOCK:.*]] = halide.fuse %[[YO]], %[[ZO]]
  // CHECK: halide.gpu_block %[[BLOCK]]
  // CHECK: halide.gpu_thread %[[YI]]
  // CHECK: halide.gpu_thread %[[ZI]]
  // CHECK-NOT: halide.loops %[[HALF]]
  // CHECK: halide.loops %[[OUT]]
  // CHECK-COUNT-3: halide.gpu_
}

// CHECK-LABEL: halide.pipeline @one
halide.pipeline @one {
  %out = halide.func "out" [] : i32 {
    %one = arith.constant 1 : i32
    halide.yield %one : i32
  }
  halide.output %out [] : !halide.func<i32, 0>
  // CHECK: halide.gpu_single_thread
}

// A pipeline that is on a GPU already is left alone.
// CHECK-LABEL: halide.pipeline @scheduled
halide.pipeline @scheduled {
  %out = halide.func "out" [%x, %y] : i32 { halide.yield %x : i32 }
  halide.output %out [?, ?] : !halide.func<i32, 2>
  // CHECK: halide.split %{{.*}} by 4
  %x, %y = halide.loops %out : !halide.func<i32, 2>
  %xo, %xi = halide.split %x by 4
  halide.gpu_block %y
  halide.gpu_thread %xi
  // CHECK: halide.gpu_thread
  // CHECK-NOT: halide.gpu_
}

// But for its funcs at compute_root without a GPU loop.
// CHECK-LABEL: halide.pipeline @ahead
halide.pipeline @ahead {
  %c0 = arith.constant 0 : i32
  %in = halide.input "in" [?] : !halide.func<i32, 1>
  %n = halide.extent %in, 0 : !halide.func<i32, 1>
  // CHECK: %[[SUM:.*]] = halide.func "sum"
  %sum = halide.func "sum" [] : i32 { halide.yield %c0 : i32 }
  halide.update %sum[] over [%r min %c0 extent %n] : !halide.func<i32, 0> {
    %old = halide.at %sum[] : !halide.func<i32, 0>
    %v = halide.at %in[%r] : !halide.func<i32, 1>
    %new = arith.addi %old, %v : i32
    halide.yield %new : i32
  }
  // CHECK: %[[TABLE:.*]] = halide.func "table"
  %table = halide.func "table" [%x] : i32 {
    %v = halide.at %in[%x] : !halide.func<i32, 1>
    %s = halide.at %sum[] : !halide.func<i32, 0>
    %share = arith.divsi %v, %s : i32
    halide.yield %share : i32
  }
  // CHECK: %[[OUT:.*]] = halide.func "out"
  %out = halide.func "out" [%x, %y] : i32 {
    %v = halide.at %table[%y] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
  halide.output %out [?, ?] : !halide.func<i32, 2>
  // CHECK-NOT: halide.vectorize
  halide.compute_root %table : !halide.func<i32, 1>
  %t = halide.loops %table : !halide.func<i32, 1>
  %to, %ti = halide.split %t by 8
  halide.vectorize %ti
  // CHECK-NOT: halide.rfactor
  halide.compute_root %sum : !halide.func<i32, 0>
  %s = halide.loops %sum update 0 : !halide.func<i32, 0>
  %so, %si = halide.split %s by 4
  %partial = halide.rfactor %si : !halide.func<i32, 1>
  halide.compute_root %partial : !halide.func<i32, 1>
  %p = halide.loops %partial : !halide.func<i32, 1>
  halide.vectorize %p
  // CHECK: halide.split %{{.*}} by 4
  // CHECK-NEXT: halide.gpu_block
  // CHECK-NEXT: halide.gpu_thread
  %x, %y = halide.loops %out : !halide.func<i32, 2>
  %xo, %xi = halide.split %x by 4
  halide.gpu_block %y
  halide.gpu_thread %xi
  // CHECK: halide.compute_root %[[SUM]]
  // CHECK: halide.gpu_single_thread %[[SUM]]
  // CHECK: halide.gpu_single_thread %[[SUM]] update 0
  // CHECK: halide.compute_root %[[TABLE]]
  // CHECK: %[[LOOP:.*]] = halide.loops %[[TABLE]]
  // CHECK: halide.split %[[LOOP]] by 128
  // CHECK: halide.gpu_block
  // CHECK: halide.gpu_thread
  // CHECK-NOT: halide.gpu_
}

// Reduction loops that may race and run in parallel on a CPU are threads.
// CHECK-LABEL: halide.pipeline @rows_in_parallel
halide.pipeline @rows_in_parallel {
  %c0 = arith.constant 0 : i32
  %in = halide.input "in" [?, ?] : !halide.func<f32, 2>
  %n = halide.extent %in, 1 : !halide.func<f32, 2>
  // CHECK: %[[OUT:.*]] = halide.func "out"
  %out = halide.func "out" [%x, %y] : f32 {
    %u = halide.undef : f32
    halide.yield %u : f32
  }
  halide.update %out[%x] over [%r min %c0 extent %n] : !halide.func<f32, 2> {
    %v = halide.at %in[%x, %r] : !halide.func<f32, 2>
    %next = arith.addi %r, %r : i32
    halide.yield %v at [%x, %next] : f32
  }
  halide.output %out [?, ?] : !halide.func<f32, 2>
  %x, %r = halide.loops %out update 0 : !halide.func<f32, 2>
  %ro, %ri = halide.split %r by 16
  halide.allow_race_conditions %out update 0 : !halide.func<f32, 2>
  halide.parallel %ro
  // CHECK: %[[X:.*]], %[[R:.*]] = halide.loops %[[OUT]] update 0
  // CHECK: halide.allow_race_conditions %[[OUT]] update 0
  // CHECK: halide.split %[[X]] by 32
  // CHECK: %[[RO:.*]], %[[RI:.*]] = halide.split %[[R]] by 8
  // CHECK: halide.gpu_thread %[[RI]]
}
