// Scalar arithmetic to be written as formulas, one of them too long, and a weight whose name
// would end a comment.
func.func @formulas(%x: tensor<?x8xf32> {attn.name = "x", attn.dims = ["n", 8]},
                    %y: tensor<?x8xf32> {attn.name = "y", attn.dims = ["n", 8]},
                    %limit: tensor<f32> {attn.name = "limit"},
                    %w: tensor<8x8xf32> {attn.weight = "*/a weight/* whose name would end a comment and is too long for a line of it"})
    -> (tensor<?x8xf32> {attn.name = "out"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %factor = arith.constant -2.0 : f32
  %chosen = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    %l = tensor.extract %limit[] : tensor<f32>
    %above = arith.cmpf ogt, %a, %zero : f32
    %below = arith.cmpf ole, %a, %l : f32
    %within = arith.andi %above, %below : i1
    %less = arith.subf %b, %one : f32
    %product = arith.mulf %less, %factor : f32
    %difference = arith.subf %a, %product : f32
    %sum = arith.addf %a, %b : f32
    %negated = arith.negf %sum : f32
    %r = arith.select %within, %difference, %negated : f32
    attn.yield %r : f32
  } : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %long = attn.map %x, %y {
  ^bb0(%t0: f32, %b: f32):
    %t1 = arith.addf %t0, %b : f32
    %t2 = arith.addf %t1, %b : f32
    %t3 = arith.addf %t2, %b : f32
    %t4 = arith.addf %t3, %b : f32
    %t5 = arith.addf %t4, %b : f32
    %t6 = arith.addf %t5, %b : f32
    %t7 = arith.addf %t6, %b : f32
    %t8 = arith.addf %t7, %b : f32
    %t9 = arith.addf %t8, %b : f32
    %t10 = arith.addf %t9, %b : f32
    %t11 = arith.addf %t10, %b : f32
    %t12 = arith.addf %t11, %b : f32
    %t13 = arith.addf %t12, %b : f32
    %t14 = arith.addf %t13, %b : f32
    %t15 = arith.addf %t14, %b : f32
    %t16 = arith.addf %t15, %b : f32
    %t17 = arith.addf %t16, %b : f32
    %t18 = arith.addf %t17, %b : f32
    %t19 = arith.addf %t18, %b : f32
    %t20 = arith.addf %t19, %b : f32
    %t21 = arith.addf %t20, %b : f32
    %t22 = arith.addf %t21, %b : f32
    %t23 = arith.addf %t22, %b : f32
    %t24 = arith.addf %t23, %b : f32
    %t25 = arith.addf %t24, %b : f32
    %t26 = arith.addf %t25, %b : f32
    %t27 = arith.addf %t26, %b : f32
    %t28 = arith.addf %t27, %b : f32
    %t29 = arith.addf %t28, %b : f32
    %t30 = arith.addf %t29, %b : f32
    %t31 = arith.addf %t30, %b : f32
    %t32 = arith.addf %t31, %b : f32
    %t33 = arith.addf %t32, %b : f32
    %t34 = arith.addf %t33, %b : f32
    %t35 = arith.addf %t34, %b : f32
    %t36 = arith.addf %t35, %b : f32
    %t37 = arith.addf %t36, %b : f32
    %t38 = arith.addf %t37, %b : f32
    %t39 = arith.addf %t38, %b : f32
    %t40 = arith.addf %t39, %b : f32
    %t41 = arith.addf %t40, %b : f32
    %t42 = arith.addf %t41, %b : f32
    %t43 = arith.addf %t42, %b : f32
    %t44 = arith.addf %t43, %b : f32
    attn.yield %t44 : f32
  } : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %rows = attn.linear %chosen, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %out = attn.map %rows, %long {
  ^bb0(%a: f32, %b: f32):
    %r = math.powf %a, %b : f32
    attn.yield %r : f32
  } : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}
