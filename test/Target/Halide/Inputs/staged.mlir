// A func that is copied to shared memory before a loop and read in it. What is computed
// later in the loop would take its place, were it not read behind the loop as well (GUARD).
module {
  halide.pipeline @staged_kernel {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c31 = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %in = halide.input "in" [32] : !halide.func<f32, 1>
    %staged = halide.func "staged" [%x] : f32 {
      %v = halide.at %in[%x] : !halide.func<f32, 1>
      halide.yield %v : f32
    }
    %first = halide.func "first" [%x, %c] : f32 {
      %m = arith.subi %c31, %x : i32
      %v = halide.at %staged[%x] : !halide.func<f32, 1>
      %w = halide.at %staged[%m] : !halide.func<f32, 1>
      %f = arith.sitofp %c : i32 to f32
      %s = arith.addf %v, %w : f32
      %r = arith.addf %s, %f : f32
      halide.yield %r : f32
    }
    %second = halide.func "second" [%x, %c] : f32 {
      %m = arith.subi %c31, %x : i32
      %v = halide.at %first[%x, %c] : !halide.func<f32, 2>
      %w = halide.at %first[%m, %c] : !halide.func<f32, 2>
      %r = arith.mulf %v, %w : f32
      halide.yield %r : f32
    }
    %sum = halide.func "sum" [%x] : f32 { halide.yield %zero : f32 }
    halide.update %sum[%x] over [%r min %c0 extent %c4] : !halide.func<f32, 1> {
      %m = arith.subi %c31, %x : i32
      %old = halide.at %sum[%x] : !halide.func<f32, 1>
      %v = halide.at %second[%m, %r] : !halide.func<f32, 2>
      %new = arith.addf %old, %v : f32
      halide.yield %new : f32
    }
    %out = halide.func "out" [%x] : f32 {
      %s = halide.at %sum[%x] : !halide.func<f32, 1>
      %again = halide.at %staged[%x] : !halide.func<f32, 1> // GUARD
      %r = arith.addf %s, %again : f32
      halide.yield %r : f32
    }
    halide.output %out [32] : !halide.func<f32, 1>

    %out_x = halide.loops %out : !halide.func<f32, 1>
    %block, %thread = halide.split %out_x by 32
    halide.gpu_block %block
    halide.gpu_thread %thread
    halide.compute_at %staged, %block : !halide.func<f32, 1>
    %staged_x = halide.loops %staged : !halide.func<f32, 1>
    halide.gpu_thread %staged_x
    halide.compute_at %sum, %block : !halide.func<f32, 1>
    %sum_x = halide.loops %sum : !halide.func<f32, 1>
    halide.gpu_thread %sum_x
    %update_x, %update_r = halide.loops %sum update 0 : !halide.func<f32, 1>
    halide.reorder %update_x, %update_r
    halide.gpu_thread %update_x
    halide.compute_at %first, %update_r : !halide.func<f32, 2>
    %first_x, %first_c = halide.loops %first : !halide.func<f32, 2>
    halide.gpu_thread %first_x
    halide.compute_at %second, %update_r : !halide.func<f32, 2>
    %second_x, %second_c = halide.loops %second : !halide.func<f32, 2>
    halide.gpu_thread %second_x
  }
  func.func @staged(%in: memref<32xf32> {attn.name = "in"},
                    %out: memref<32xf32> {attn.name = "out", attn.result}) {
    host.call @staged_kernel(%in, %out) : memref<32xf32>, memref<32xf32>
    return
  }
}
