// RUN: attnc verify %s --function open --size len=1,2,7,13,17,40 --size batch=0,1,2,5,16,17 | FileCheck %s
// RUN: attnc verify %s --function open_unpacked --size len=1,2,13,17,130 --size batch=0,1,2,16,130 | FileCheck %s
// RUN: attnc verify %s --function many_sequences | FileCheck %s
// RUN: attnc verify %s --function two_schedules | FileCheck %s
// RUN: attnc verify %s --function time_first --size extra=0,1,3 | FileCheck %s
// RUN: attnc explain %s --function many_sequences | FileCheck %s --check-prefix=ONE
// RUN: attnc explain %s --function open --json | %python -c "import json, sys; print(len(json.load(sys.stdin)['ops'][0]['kernels']))" | FileCheck %s --check-prefix=OPEN

// Where the last leading dimension is short, a register tile has its rows from the one before.
// CHECK: all within the allowed error
// ONE-COUNT-1: kernel many_sequences_linear
// OPEN: 3

func.func @open(%x: tensor<?x?x3xf32> {attn.name = "x", attn.dims = ["len", "batch", 3]})
    -> (tensor<?x?x5xf32> {attn.name = "y"}) {
  %w = arith.constant dense<[[1.0, -2.0, 0.5], [3.0, 1.5, -1.0], [0.25, 4.0, 2.0], [-3.0, 0.75, 1.0],
                             [2.5, -0.5, 6.0]]> : tensor<5x3xf32>
  %y = attn.linear %x, %w : tensor<?x?x3xf32>, tensor<5x3xf32> -> tensor<?x?x5xf32>
  return %y : tensor<?x?x5xf32>
}

// Up to 128 rows read the weights in place.
!x = tensor<?x?x32xf32>
func.func @open_unpacked(%x: !x {attn.name = "x", attn.dims = ["len", "batch", 32]},
                         %w: tensor<40x32xf32> {attn.name = "w"}, %b: tensor<40xf32> {attn.name = "b"},
                         %r: tensor<?x?x40xf32> {attn.name = "r", attn.dims = ["len", "batch", 40]})
    -> (tensor<?x?x40xf32> {attn.name = "y"}) {
  %l = attn.linear %x, %w, %b : !x, tensor<40x32xf32>, tensor<40xf32> -> tensor<?x?x40xf32>
  %y = attn.map %l, %r {
  ^bb0(%e: f32, %o: f32):
    %s = arith.addf %e, %o : f32
    attn.yield %s : f32
  } : tensor<?x?x40xf32>, tensor<?x?x40xf32> -> tensor<?x?x40xf32>
  return %y : tensor<?x?x40xf32>
}

func.func @many_sequences(%x: tensor<29x1x24xf32> {attn.name = "x"}, %w: tensor<40x24xf32> {attn.name = "w"})
    -> (tensor<29x1x40xf32> {attn.name = "y"}) {
  %y = attn.linear %x, %w : tensor<29x1x24xf32>, tensor<40x24xf32> -> tensor<29x1x40xf32>
  return %y : tensor<29x1x40xf32>
}

// Short rows have the last schedule, whatever an earlier one would serve.
func.func @two_schedules(%x: tensor<20x1x24xf32> {attn.name = "x"}, %w: tensor<40x24xf32> {attn.name = "w"})
    -> (tensor<20x1x40xf32> {attn.name = "y"}) {
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 4, vectors = 2, vector_width = 16, row_block = 16, max_rows = 32>,
                                    #attn.linear<row_tile = 6, vectors = 2, vector_width = 16, row_block = 48>])
      : tensor<20x1x24xf32>, tensor<40x24xf32> -> tensor<20x1x40xf32>
  return %y : tensor<20x1x40xf32>
}

func.func @time_first(%x: tensor<?x29x2x24xf32> {attn.name = "x", attn.dims = ["extra", 29, 2, 24]},
                      %w: tensor<40x24xf32> {attn.name = "w"})
    -> (tensor<?x29x2x40xf32> {attn.name = "y"}) {
  %y = attn.linear %x, %w : tensor<?x29x2x24xf32>, tensor<40x24xf32> -> tensor<?x29x2x40xf32>
  return %y : tensor<?x29x2x40xf32>
}
