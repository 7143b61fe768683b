// Comparisons of scores, also those that widen f16, leave no work for KV blocks without a visible
// key.
// RUN: attnc compile %s --function narrowed --target x86-64-linux-avx2-fma-f16c --emit stmt -o %t
// RUN: FileCheck %s < %t/narrowed.stmt
// RUN: attnc compile %s --function selected --target x86-64-linux-avx2-fma-f16c --emit stmt -o %t
// RUN: FileCheck %s < %t/selected.stmt
// RUN: attnc compile %s --function divided --target x86-64-linux-avx2-fma-f16c --emit stmt -o %t
// RUN: FileCheck %s < %t/divided.stmt
// CHECK: acc.s1.rc.new_max.s = min(kv_blocks[0],
// CHECK-NOT: if (acc.s1.rc < kv_blocks

func.func @narrowed(%q: tensor<1x1x1x64xf16>, %k: tensor<1x1x?x64xf16>, %v: tensor<1x1x?x8xf16>,
                    %n: tensor<1xi64>) -> tensor<1x1x1x8xf16> {
  %c = attn.attention %q, %k, %v scale(0.125) score_mod {
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    %wide = arith.extf %s : f16 to f32
    %size = math.absf %wide : f32
    %t = arith.truncf %size : f32 to f16
    attn.yield %t : f16
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n64 = tensor.extract %n[%b] : tensor<1xi64>
    %len = arith.index_cast %n64 : i64 to index
    %visible = arith.cmpi slt, %j, %len : index
    attn.yield %visible : i1
  } : tensor<1x1x1x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x8xf16> -> tensor<1x1x1x8xf16>
  return %c : tensor<1x1x1x8xf16>
}

func.func @selected(%q: tensor<1x1x1x64xf32>, %k: tensor<1x1x?x64xf32>, %v: tensor<1x1x?x8xf32>,
                    %n: tensor<1xi64>) -> tensor<1x1x1x8xf32> {
  %c = attn.attention %q, %k, %v scale(0.125) score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %positive = arith.cmpf ogt, %s, %zero : f32
    %below = arith.cmpf olt, %s, %one : f32
    %both = arith.select %positive, %below, %positive : i1
    %sign = arith.extsi %both : i1 to i32
    %three = arith.constant 3 : i32
    %int = arith.select %positive, %sign, %three : i32
    %t = arith.sitofp %int : i32 to f32
    attn.yield %t : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n64 = tensor.extract %n[%b] : tensor<1xi64>
    %len = arith.index_cast %n64 : i64 to index
    %visible = arith.cmpi slt, %j, %len : index
    attn.yield %visible : i1
  } : tensor<1x1x1x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x1x8xf32>
  return %c : tensor<1x1x1x8xf32>
}

func.func @divided(%q: tensor<1x1x1x64xf32>, %k: tensor<1x1x?x64xf32>, %v: tensor<1x1x?x8xf32>,
                   %n: tensor<1xi64>) -> tensor<1x1x1x8xf32> {
  %c = attn.attention %q, %k, %v scale(0.125) score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %int = arith.fptosi %s : f32 to i32
    %many = arith.constant 1000 : i32
    %quotient = arith.floordivsi %many, %int : i32
    %t = arith.sitofp %quotient : i32 to f32
    attn.yield %t : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n64 = tensor.extract %n[%b] : tensor<1xi64>
    %len = arith.index_cast %n64 : i64 to index
    %visible = arith.cmpi slt, %j, %len : index
    attn.yield %visible : i1
  } : tensor<1x1x1x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x1x8xf32>
  return %c : tensor<1x1x1x8xf32>
}
