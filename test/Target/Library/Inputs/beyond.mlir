// A kernel that reads one row more than there is.
!any = memref<?x64xf32, strided<[?, 1], offset: ?>>

halide.pipeline @read_beyond {
  %in = halide.input "in" [64, ?] : !halide.func<f32, 2>
  %one = arith.constant 1 : i32
  %f = halide.func "beyond" [%x, %y] : f32 {
    %next = arith.addi %y, %one : i32
    %v = halide.at %in[%x, %next] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %f [64, ?] : !halide.func<f32, 2>
}

func.func @beyond(%query: !any {attn.name = "query", attn.dims = ["n", 64]},
                  %context: !any {attn.name = "context", attn.dims = ["n", 64], attn.result}) {
  host.call @read_beyond(%query, %context) : !any, !any
  return
}
