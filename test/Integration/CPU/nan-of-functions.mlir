// NaN in a query or key passes through elementary functions of its scores, whose sums promise LLVM
// to be numbers.

// RUN: attnc verify %s --function tanh --size q_len=33,kv_len=21
// RUN: attnc verify %s --function erf --size q_len=33,kv_len=21
// RUN: attnc verify %s --function log --size q_len=33,kv_len=21
// RUN: attnc verify %s --function sin --size q_len=33,kv_len=21

func.func @tanh(%q: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "q_len", 16]},
    %k: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "kv_len", 16]},
    %v: tensor<1x1x?x3xf32> {attn.dims = [1, 1, "kv_len", 3]}) -> tensor<1x1x?x3xf32> {
  %score = attn.score %q, %k : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>
  %changed = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = math.tanh %s : f32
    attn.yield %r : f32
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %changed : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x3xf32>
  return %context : tensor<1x1x?x3xf32>
}

func.func @erf(%q: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "q_len", 16]},
    %k: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "kv_len", 16]},
    %v: tensor<1x1x?x3xf32> {attn.dims = [1, 1, "kv_len", 3]}) -> tensor<1x1x?x3xf32> {
  %score = attn.score %q, %k : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>
  %changed = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = math.erf %s : f32
    %e = math.exp %x : f32
    %r = math.expm1 %e : f32
    attn.yield %r : f32
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %changed : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x3xf32>
  return %context : tensor<1x1x?x3xf32>
}

func.func @log(%q: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "q_len", 16]},
    %k: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "kv_len", 16]},
    %v: tensor<1x1x?x3xf32> {attn.dims = [1, 1, "kv_len", 3]}) -> tensor<1x1x?x3xf32> {
  %score = attn.score %q, %k : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>
  %changed = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %a = math.absf %s : f32
    %r = math.log1p %a : f32
    attn.yield %r : f32
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %changed : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x3xf32>
  return %context : tensor<1x1x?x3xf32>
}

func.func @sin(%q: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "q_len", 16]},
    %k: tensor<1x1x?x16xf32> {attn.dims = [1, 1, "kv_len", 16]},
    %v: tensor<1x1x?x3xf32> {attn.dims = [1, 1, "kv_len", 3]}) -> tensor<1x1x?x3xf32> {
  %score = attn.score %q, %k : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>
  %changed = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = math.sin %s : f32
    %two = arith.constant 2.0 : f32
    %y = arith.addf %x, %two : f32
    %c = arith.constant 1.7 : f32
    %r = math.powf %y, %c : f32
    attn.yield %r : f32
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %changed : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x3xf32>
  return %context : tensor<1x1x?x3xf32>
}
