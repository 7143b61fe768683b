// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_skylake --convert-attn-to-halide --canonicalize --cse | FileCheck %s

// A window bounds the keys of a row tile on both sides: its first row below, its last above.
// CHECK-LABEL: halide.pipeline @window_attention_0
// CHECK: halide.func "low" [%[[IT:.*]], %h, %b]
// CHECK:   %[[FIRST:.*]] = arith.muli %[[IT]], %c48_i32
// CHECK:   arith.subi %[[FIRST]], %c255_i32
// CHECK: halide.func "high" [
// CHECK:   arith.minsi
func.func @window(%q: tensor<1x1x?x64xf32>, %k: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %width = arith.constant 255 : index
    %start = arith.subi %i, %width : index
    %after = arith.cmpi sge, %j, %start : index
    %before = arith.cmpi sle, %j, %i : index
    %m = arith.andi %after, %before : i1
    attn.yield %m : i1
  } : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32> -> tensor<1x1x?x64xf32>
  return %c : tensor<1x1x?x64xf32>
}

// Lengths known when called bound the keys of a batch.
// CHECK-LABEL: halide.pipeline @lengths_attention_0
// CHECK: %[[LENGTHS:.*]] = halide.input "captured{{.*}}" [?] : <i32, 1>
// CHECK: halide.func "low"
// CHECK-NEXT: halide.yield %c0_i32
// CHECK: halide.func "high" [%it, %h, %[[B:.*]]]
// CHECK:   halide.at %[[LENGTHS]][%[[B]]]
func.func @lengths(%q: tensor<?x1x?x64xf32>, %k: tensor<?x1x?x64xf32>, %n: tensor<?xi32>) -> tensor<?x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %length = tensor.extract %n[%b] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %m = arith.cmpi slt, %j, %end : index
    attn.yield %m : i1
  } : tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x1x?x64xf32>
  return %c : tensor<?x1x?x64xf32>
}

// What is not linear in q and k bounds nothing.
// CHECK-LABEL: halide.pipeline @odd_attention_0
// CHECK: halide.func "low"
// CHECK-NEXT: halide.yield %c0_i32
// CHECK: halide.func "high"
// CHECK-NEXT: halide.yield %key_extent1
func.func @odd(%q: tensor<1x1x?x64xf32>, %k: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %r = arith.remui %j, %two : index
    %m = arith.cmpi ult, %r, %i : index
    attn.yield %m : i1
  } : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32> -> tensor<1x1x?x64xf32>
  return %c : tensor<1x1x?x64xf32>
}
