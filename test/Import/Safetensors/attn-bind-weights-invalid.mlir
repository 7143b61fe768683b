// Missing and mismatched tensors of the file are errors at the argument.
// RUN: %python %S/Inputs/write.py %t.safetensors
// RUN: attn-opt %s --attn-bind-weights=files=%t.safetensors -split-input-file -verify-diagnostics

// expected-error@+1 {{expected weight 'wieght' of argument 0 in }}
func.func @missing(%w: tensor<3x4xf32> {attn.weight = "wieght"}) { return }

// -----

// expected-error@+1 {{expected weight 'weight' of argument 'w' to be 'tensor<4x3xf32>', found 'tensor<3x4xf32>' in }}
func.func @shape(%w: tensor<4x3xf32> {attn.weight = "weight", attn.name = "w"}) { return }

// -----

// expected-error@+1 {{expected weight 'double' of argument 0 to be 'tensor<2xf32>', found 'tensor<2xf64>' in }}
func.func @dtype(%w: tensor<2xf32> {attn.weight = "double"}) { return }

// -----

// expected-error@+1 {{expected weight 'weight' of argument 0 to be 'tensor<?x4xf32>', found 'tensor<3x4xf32>' in }}
func.func @dynamic(%w: tensor<?x4xf32> {attn.weight = "weight"}) { return }
