// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide -split-input-file -verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 1.0 : f32
  // expected-error @+1 {{expected an op that convert-attn-to-halide knows, found tensor.from_elements}}
  %e = tensor.from_elements %c, %c, %c, %c : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

func.func @strided_insert(%x: tensor<2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected strides of 1, found others}}
  %r = tensor.insert_slice %x into %y[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected ranked tensors as arguments and results, found 'f32'}}
func.func @scalar(%x: tensor<4xf32>, %y: f32) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @rank(%x: tensor<1x1x1x1x1x1x1x1x2xf32>) -> tensor<1x1x1x1x1x1x1x1x2xf32> {
  // expected-error @+1 {{expected tensors of rank 8 or less, found 9}}
  %y = attn.softmax %x : tensor<1x1x1x1x1x1x1x1x2xf32>
  return %y : tensor<1x1x1x1x1x1x1x1x2xf32>
}

// -----

func.func @rank_of_copy(%x: tensor<1x1x1x1x1x1x1x1x2xf32>) -> tensor<1x1x1x1x1x1x1x1x2xf32> {
  // expected-error @+1 {{expected tensors of rank 8 or less, found 9}}
  return %x : tensor<1x1x1x1x1x1x1x1x2xf32>
}

// -----

!t = tensor<1x8x9x64xf64>
func.func @scheduled_f64(%x: !t) -> !t {
  // expected-error @+1 {{expected no schedule, as elements are f64}}
  %c = attn.attention %x, %x, %x schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !t, !t, !t -> !t
  return %c : !t
}

// -----

!t = tensor<1x8x9x64xf32>
func.func @scheduled_bent_prob(%x: !t) -> !t {
  // expected-error @+1 {{expected no schedule, as the prob region is not linear in the prob}}
  %c = attn.attention %x, %x, %x prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %r = arith.mulf %p, %p : f32
    attn.yield %r : f32
  } schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !t, !t, !t -> !t
  return %c : !t
}

// -----

func.func @computed_dim(%x: tensor<?x2xf32>, %which: tensor<index>) -> tensor<?x2xf32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %dim = tensor.extract %which[] : tensor<index>
    // expected-error @+1 {{expected a constant dimension of 'tensor<?x2xf32>', found a computed one}}
    %n = tensor.dim %x, %dim : tensor<?x2xf32>
    %i = arith.index_cast %n : index to i32
    %f = arith.sitofp %i : i32 to f32
    attn.yield %f : f32
  } : tensor<?x2xf32> -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// -----

// expected-error @+1 {{expected i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits as elements of arguments and results, found 'complex<f32>'}}
func.func @complex(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  return %a : tensor<4xcomplex<f32>>
}

// -----

// expected-error @+1 {{expected i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits as elements of arguments and results, found 'index'}}
func.func @index(%a: tensor<2xindex>) -> tensor<2xindex> {
  return %a : tensor<2xindex>
}
