// A mask as a large negative bias leaves a prob of exactly 0, which takes no part even
// where the value is infinite; a key that is far behind the best one does.
// RUN: attnc verify %s

func.func @low_bias(%query: tensor<2x2x19x16xf32>, %key: tensor<2x2x33x16xf32>,
                    %value: tensor<2x2x33x16xf32>) -> tensor<2x2x19x16xf32> {
  %score = attn.score %query, %key scale(3.0)
      : tensor<2x2x19x16xf32>, tensor<2x2x33x16xf32> -> tensor<2x2x19x33xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %q: index, %k: index):
    %low = arith.constant -1.0e9 : f32
    %zero = arith.constant 0.0 : f32
    %hidden = arith.cmpi sgt, %k, %q : index
    %bias = arith.select %hidden, %low, %zero : f32
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  } : tensor<2x2x19x33xf32>
  %prob = attn.softmax %biased : tensor<2x2x19x33xf32>
  %context = attn.context %prob, %value
      : tensor<2x2x19x33xf32>, tensor<2x2x33x16xf32> -> tensor<2x2x19x16xf32>
  return %context : tensor<2x2x19x16xf32>
}
