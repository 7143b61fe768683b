// Sums that threads keep from trip to trip, two each: thread x has x and x + 16.
module {
  halide.pipeline @registers_kernel {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c31 = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %in = halide.input "in" [32] : !halide.func<f32, 1>
    %sum = halide.func "sum" [%x] : f32 { halide.yield %zero : f32 }
    halide.update %sum[%x] over [%r min %c0 extent %c4] : !halide.func<f32, 1> {
      %old = halide.at %sum[%x] : !halide.func<f32, 1>
      %v = halide.at %in[%x] : !halide.func<f32, 1>
      %f = arith.sitofp %r : i32 to f32
      %w = arith.mulf %v, %f : f32
      %new = arith.addf %old, %w : f32
      halide.yield %new : f32
    }
    %out = halide.func "out" [%x] : f32 {
      %m = arith.subi %c31, %x : i32
      %s = halide.at %sum[%x] : !halide.func<f32, 1> // READ
      halide.yield %s : f32
    }
    halide.output %out [32] : !halide.func<f32, 1>

    %out_x = halide.loops %out : !halide.func<f32, 1>
    %block, %tile = halide.split %out_x by 32
    %part, %thread = halide.split %tile by 16
    halide.unroll %part
    halide.reorder %part, %thread
    halide.gpu_block %block
    halide.gpu_thread %thread
    halide.compute_at %sum, %block : !halide.func<f32, 1>
    halide.store_in %sum, register : !halide.func<f32, 1>
    halide.bound_extent %sum, 0 extent 32 : !halide.func<f32, 1>
    %sum_x = halide.loops %sum : !halide.func<f32, 1>
    %sum_part, %sum_thread = halide.split %sum_x by 16
    halide.unroll %sum_part
    halide.reorder %sum_part, %sum_thread
    halide.gpu_thread %sum_thread
    %update_x, %update_r = halide.loops %sum update 0 : !halide.func<f32, 1>
    %update_part, %update_thread = halide.split %update_x by 16
    halide.unroll %update_part // UNROLL
    halide.reorder %update_part, %update_thread, %update_r
    halide.gpu_thread %update_thread
  }
  func.func @registers(%in: memref<32xf32> {attn.name = "in"},
                       %out: memref<32xf32> {attn.name = "out", attn.result}) {
    host.call @registers_kernel(%in, %out) : memref<32xf32>, memref<32xf32>
    return
  }
}
