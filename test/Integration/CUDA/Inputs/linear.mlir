// Linear layers for tensor cores: what tiles of 8, 16, 32, 64 and 128 do not divide, and epilogues.

// Rows that are no multiple of 16 bytes; a residual and ReLU.
!x = tensor<?x70xf16>
!y = tensor<?x90xf16>
func.func @residual(%x: !x {attn.dims = ["rows", 70]}, %w: tensor<90x70xf16>, %b: tensor<90xf16>,
                    %before: !y {attn.dims = ["rows", 90]}) -> !y {
  %y = attn.linear %x, %w, %b : !x, tensor<90x70xf16>, tensor<90xf16> -> !y
  %z = attn.map %y, %before {
  ^bb0(%p: f16, %q: f16):
    %zero = arith.constant 0.0 : f16
    %positive = arith.maximumf %p, %zero : f16
    %r = arith.addf %positive, %q : f16
    attn.yield %r : f16
  } : !y, !y -> !y
  return %z : !y
}

// GELU by the error function, of rows of two dimensions.
!h = tensor<?x?x96xbf16>
!g = tensor<?x?x136xbf16>
func.func @gelu(%x: !h {attn.dims = ["batch", "len", 96]}, %w: tensor<136x96xbf16>, %b: tensor<136xbf16>) -> !g {
  %y = attn.linear %x, %w, %b : !h, tensor<136x96xbf16>, tensor<136xbf16> -> !g
  %z = attn.map %y {
  ^bb0(%p: bf16):
    %wide = arith.extf %p : bf16 to f32
    %root = arith.constant 0.70710678 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %scaled = arith.mulf %wide, %root : f32
    %e = math.erf %scaled : f32
    %above = arith.addf %e, %one : f32
    %halved = arith.mulf %wide, %half : f32
    %r = arith.mulf %halved, %above : f32
    %short = arith.truncf %r : f32 to bf16
    attn.yield %short : bf16
  } : !g -> !g
  return %z : !g
}

// Whole tiles, in f32 for another op's sake, of which only a part is an epilogue.
!a = tensor<?x256xbf16>
!c = tensor<?x128xbf16>
!d = tensor<?x128xf32>
func.func @whole(%x: !a {attn.dims = ["rows", 256]}, %w: tensor<128x256xbf16>, %scale: tensor<1x128xf32>,
                 %keep: tensor<?x1xi1> {attn.dims = ["rows", 1]}) -> !d {
  %y = attn.linear %x, %w : !a, tensor<128x256xbf16> -> !c
  %z = attn.map %y, %scale, %keep {
  ^bb0(%p: bf16, %s: f32, %k: i1):
    %wide = arith.extf %p : bf16 to f32
    %scaled = arith.mulf %wide, %s : f32
    %zero = arith.constant 0.0 : f32
    %r = arith.select %k, %scaled, %zero : f32
    attn.yield %r : f32
  } : !c, tensor<1x128xf32>, tensor<?x1xi1> -> !d
  %u = attn.map %z {
  ^bb0(%p: f32):
    %r = math.sin %p : f32
    attn.yield %r : f32
  } : !d -> !d
  return %u : !d
}

func.func @open(%x: tensor<?x?x19xf16> {attn.dims = ["batch", "len", 19]}, %w: tensor<?x19xf16> {attn.dims = ["features", 19]})
    -> tensor<?x?x?xf16> {
  %y = attn.linear %x, %w : tensor<?x?x19xf16>, tensor<?x19xf16> -> tensor<?x?x?xf16>
  return %y : tensor<?x?x?xf16>
}

func.func @constant(%x: tensor<?x5xf16> {attn.dims = ["rows", 5]}) -> tensor<?x3xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [0.5, -1.0, 0.25, 8.0, 1.5], [-3.0, 0.0, 7.0, 2.0, 9.0]]> : tensor<3x5xf16>
  %b = arith.constant dense<[0.5, -1.0, 2.0]> : tensor<3xf16>
  %y = attn.linear %x, %w, %b : tensor<?x5xf16>, tensor<3x5xf16>, tensor<3xf16> -> tensor<?x3xf16>
  return %y : tensor<?x3xf16>
}
