// Prefill with products of bf16 tiles, by an emulation of AMX that executes its instructions as they are compiled: no machine with AMX
// is needed. Without the emulation, a CPU's own tiles multiply, or products are in f32. NaN and infinities, behind the mask
// or not, are among the cases.

// DEFINE: %{select} = attnc compile %s --emit fused --target x86-64-linux-avx512_sapphirerapids -o -
// DEFINE: %{verify} = attnc verify --target x86-64-linux-avx2-fma
// DEFINE: %{emulate} = env LD_PRELOAD=%t/amx.so %{verify}
// DEFINE: %{check} = FileCheck %s --check-prefixes=AMX,CHECK

// RUN: rm -rf %t && mkdir %t
// RUN: %cc -O1 -shared -fPIC -Wall -Wextra %S/Inputs/emulate-amx.c -o %t/amx.so -lm -ldl
// RUN: %{select} --function open > %t/open.mlir
// RUN: %{emulate} %t/open.mlir --size q_len=17,100 --size kv_len=1,31,33,600 2>&1 | %{check}
// RUN: %{verify} %t/open.mlir --size q_len=17,100 --size kv_len=1,31,33,600 2>&1 | FileCheck %s --implicit-check-not emulated
// RUN: %{select} --function causal > %t/causal.mlir
// RUN: %{emulate} %t/causal.mlir 2>&1 | %{check}
// RUN: %{verify} %t/causal.mlir 2>&1 | FileCheck %s --implicit-check-not emulated
// RUN: %{select} --function window > %t/window.mlir
// RUN: %{emulate} %t/window.mlir 2>&1 | %{check}
// RUN: %{select} --function quad > %t/quad.mlir
// RUN: %{emulate} %t/quad.mlir 2>&1 | %{check}
// RUN: %{select} --function paged > %t/paged.mlir
// RUN: %{emulate} %t/paged.mlir --size num_pages=12,max_pages=5 2>&1 | %{check}
// RUN: %{select} --function documents > %t/documents.mlir
// RUN: %{emulate} %t/documents.mlir --size len=20,70 2>&1 | %{check}
// RUN: grep -L bf16_tiles %t/*.mlir | count 0
// AMX: emulated AMX: multiplies tiles
// CHECK: cases, all within the allowed error

func.func @open(%query: tensor<1x1x?x80xbf16> {attn.dims = [1, 1, "q_len", 80]},
                %key: tensor<1x1x?x80xbf16> {attn.dims = [1, 1, "kv_len", 80]}) -> tensor<1x1x?x80xbf16> attributes {attn.q_len = 200} {
  %score = attn.score %query, %key scale(0.125) : tensor<1x1x?x80xbf16>, tensor<1x1x?x80xbf16> -> tensor<1x1x?x?xbf16>
  %prob = attn.softmax %score : tensor<1x1x?x?xbf16>
  %context = attn.context %prob, %key : tensor<1x1x?x?xbf16>, tensor<1x1x?x80xbf16> -> tensor<1x1x?x80xbf16>
  return %context : tensor<1x1x?x80xbf16>
}

// Several KV blocks, and two blocks of value dims.
func.func @causal(%query: tensor<1x1x290x128xbf16>, %key: tensor<1x1x290x128xbf16>) -> tensor<1x1x290x128xbf16> {
  %score = attn.score %query, %key scale(0.09) : tensor<1x1x290x128xbf16>, tensor<1x1x290x128xbf16> -> tensor<1x1x290x290xbf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<1x1x290x290xbf16>
  %prob = attn.softmax %masked : tensor<1x1x290x290xbf16>
  %context = attn.context %prob, %key : tensor<1x1x290x290xbf16>, tensor<1x1x290x128xbf16> -> tensor<1x1x290x128xbf16>
  return %context : tensor<1x1x290x128xbf16>
}

// One KV block, which starts at any key, odd ones too.
func.func @window(%query: tensor<1x2x90x64xbf16>, %key: tensor<1x2x90x64xbf16>) -> tensor<1x2x90x64xbf16> {
  %score = attn.score %query, %key scale(-0.125) : tensor<1x2x90x64xbf16>, tensor<1x2x90x64xbf16> -> tensor<1x2x90x90xbf16>
  %masked = attn.mask %score window(36, 3) : tensor<1x2x90x90xbf16>
  %prob = attn.softmax %masked : tensor<1x2x90x90xbf16>
  %context = attn.context %prob, %key : tensor<1x2x90x90xbf16>, tensor<1x2x90x64xbf16> -> tensor<1x2x90x64xbf16>
  return %context : tensor<1x2x90x64xbf16>
}

// Two pairs of dims.
func.func @quad(%query: tensor<1x2x64x4xbf16>, %key: tensor<1x2x130x4xbf16>) -> tensor<1x2x64x4xbf16> {
  %score = attn.score %query, %key scale(0.125) : tensor<1x2x64x4xbf16>, tensor<1x2x130x4xbf16> -> tensor<1x2x64x130xbf16>
  %prob = attn.softmax %score : tensor<1x2x64x130xbf16>
  %context = attn.context %prob, %key : tensor<1x2x64x130xbf16>, tensor<1x2x130x4xbf16> -> tensor<1x2x64x4xbf16>
  return %context : tensor<1x2x64x4xbf16>
}

// Keys in pages, copied in pairs.
func.func @paged(%query: tensor<2x4x40x64xbf16>, %pool: tensor<?x16x2x64xbf16> {attn.dims = ["num_pages", 16, 2, 64]},
                 %table: tensor<2x?xi32> {attn.dims = [2, "max_pages"]}, %lengths: tensor<2xi32>) -> tensor<2x4x40x64xbf16> {
  %k = attn.gather_pages %pool[%table] lengths(%lengths : tensor<2xi32>) : tensor<?x16x2x64xbf16>, tensor<2x?xi32>
  %score = attn.score %query, %k scale(0.125) : tensor<2x4x40x64xbf16>, tensor<2x2x?x64xbf16>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<2xi32>) : tensor<2x4x40x?xbf16>
  %prob = attn.softmax %masked : tensor<2x4x40x?xbf16>
  %context = attn.context %prob, %k : tensor<2x4x40x?xbf16>, tensor<2x2x?x64xbf16>
  return %context : tensor<2x4x40x64xbf16>
}

// Keys that a search finds for all heads.
func.func @documents(%query: tensor<2x4x?x16xbf16> {attn.dims = [2, 4, "len", 16]}, %key: tensor<2x4x?x16xbf16> {attn.dims = [2, 4, "len", 16]},
                     %ids: tensor<2x?xi32> {attn.dims = [2, "len"]}) -> tensor<2x4x?x16xbf16> {
  %score = attn.score %query, %key scale(0.25) : tensor<2x4x?x16xbf16>, tensor<2x4x?x16xbf16>
  %masked = attn.mask %score documents(%ids : tensor<2x?xi32>) : tensor<2x4x?x?xbf16>
  %prob = attn.softmax %masked : tensor<2x4x?x?xbf16>
  %context = attn.context %prob, %key : tensor<2x4x?x?xbf16>, tensor<2x4x?x16xbf16>
  return %context : tensor<2x4x?x16xbf16>
}
