// tensor.pad, tensor.splat, tensor.insert_slice and tensor.reshape.

// RUN: attnc verify %s --function pad | FileCheck %s
// RUN: attnc verify %s --function pad_by_place | FileCheck %s
// RUN: attnc verify %s --function pad_nothing --size batch=2,len=0 | FileCheck %s
// RUN: attnc verify %s --function splat | FileCheck %s
// RUN: attnc verify %s --function insert | FileCheck %s
// RUN: attnc verify %s --function insert_row | FileCheck %s
// RUN: attnc verify %s --function reshape | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @pad(%x: tensor<?x?x5xf16> {attn.name = "x", attn.dims = ["batch", "len", 5]}) -> tensor<?x?x9xf16> {
  %c = arith.constant 2.5 : f16
  %y = tensor.pad %x low[0, 3, 1] high[1, 0, 3] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c : f16
  } : tensor<?x?x5xf16> to tensor<?x?x9xf16>
  return %y : tensor<?x?x9xf16>
}

// As far as another tensor is long, with what depends on the place.
func.func @pad_by_place(%x: tensor<?x3xi32> {attn.name = "x", attn.dims = ["len", 3]},
                        %like: tensor<?x2xf32> {attn.name = "like", attn.dims = ["more", 2]}) -> tensor<?x4xi32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %like, %zero : tensor<?x2xf32>
  %y = tensor.pad %x low[1, 0] high[%n, 1] {
  ^bb0(%i: index, %j: index):
    %sum = arith.addi %i, %j : index
    %c = arith.index_cast %sum : index to i32
    tensor.yield %c : i32
  } : tensor<?x3xi32> to tensor<?x4xi32>
  return %y : tensor<?x4xi32>
}

func.func @pad_nothing(%x: tensor<?x?x5xbf16> {attn.name = "x", attn.dims = ["batch", "len", 5]}) -> tensor<?x?x6xbf16> {
  %c = arith.constant -1.0 : bf16
  %y = tensor.pad %x low[0, 2, 0] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c : bf16
  } : tensor<?x?x5xbf16> to tensor<?x?x6xbf16>
  return %y : tensor<?x?x6xbf16>
}

func.func @splat(%x: tensor<?x7xf64> {attn.name = "x", attn.dims = ["len", 7]},
                 %one: tensor<f64> {attn.name = "one"}) -> tensor<?x7xf64> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x7xf64>
  %c = tensor.extract %one[] : tensor<f64>
  %d = arith.addf %c, %c : f64
  %all = tensor.splat %d[%n] : tensor<?x7xf64>
  %y = arith.mulf %x, %all : tensor<?x7xf64>
  return %y : tensor<?x7xf64>
}

func.func @insert(%x: tensor<?x3x4xf32> {attn.name = "x", attn.dims = ["batch", 3, 4]},
                  %all: tensor<?x9x6xf32> {attn.name = "all", attn.dims = ["batch", 9, 6]}) -> tensor<?x9x6xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x3x4xf32>
  %y = tensor.insert_slice %x into %all[0, 5, 2] [%n, 3, 4] [1, 1, 1] : tensor<?x3x4xf32> into tensor<?x9x6xf32>
  return %y : tensor<?x9x6xf32>
}

// A row and a column of less dimensions.
func.func @insert_row(%row: tensor<6xf32> {attn.name = "row"}, %column: tensor<9xf32> {attn.name = "column"},
                      %all: tensor<9x6xf32> {attn.name = "all"}) -> tensor<9x6xf32> {
  %0 = tensor.insert_slice %row into %all[4, 0] [1, 6] [1, 1] : tensor<6xf32> into tensor<9x6xf32>
  %1 = tensor.insert_slice %column into %0[0, 3] [9, 1] [1, 1] : tensor<9xf32> into tensor<9x6xf32>
  return %1 : tensor<9x6xf32>
}

func.func @reshape(%x: tensor<?x?x8xf32> {attn.name = "x", attn.dims = ["batch", "len", 8]}) -> tensor<?x4x?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %b = tensor.dim %x, %zero : tensor<?x?x8xf32>
  %n = tensor.dim %x, %one : tensor<?x?x8xf32>
  %last = arith.muli %n, %two : index
  %shape = tensor.from_elements %b, %four, %last : tensor<3xindex>
  %y = tensor.reshape %x(%shape) : (tensor<?x?x8xf32>, tensor<3xindex>) -> tensor<?x4x?xf32>
  return %y : tensor<?x4x?xf32>
}
