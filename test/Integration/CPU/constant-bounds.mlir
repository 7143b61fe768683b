// Masks with constants as bounds, beside document ids and where keys lie in pages.

// RUN: attnc verify %s --function above --size batch=1,q_len=65,kv_len=130 | FileCheck %s
// RUN: attnc verify %s --function before --size batch=1,q_len=65,kv_len=130 | FileCheck %s
// RUN: attnc verify %s --function below --size q_len=1,max_pages=10 | FileCheck %s
// RUN: attnc verify %s --function below --size q_len=90,max_pages=10 | FileCheck %s
// RUN: attnc verify %s --function in_later_pages --size q_len=1,max_pages=200 | FileCheck %s
// RUN: attnc verify %s --function in_later_pages --size q_len=90,max_pages=10 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @above(%q: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "q_len", 16]},
                 %k: tensor<?x1x?x16xf32> {attn.dims = ["batch", 1, "kv_len", 16]},
                 %ids: tensor<?x130xi32>) -> tensor<?x2x?x16xf32> {
  %score = attn.score %q, %k scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x1x?x16xf32>
  %same = attn.mask %score documents(%ids : tensor<?x130xi32>) : tensor<?x2x?x?xf32>
  %masked = attn.mask %same {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %first = arith.constant 40 : index
    %seen = arith.cmpi sge, %j, %first : index
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x2x?x?xf32>, tensor<?x1x?x16xf32>
  return %context : tensor<?x2x?x16xf32>
}

func.func @before(%q: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "q_len", 16]},
                  %k: tensor<?x1x?x16xf32> {attn.dims = ["batch", 1, "kv_len", 16]},
                  %ids: tensor<?x130xi32>) -> tensor<?x2x?x16xf32> {
  %score = attn.score %q, %k scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x1x?x16xf32>
  %same = attn.mask %score documents(%ids : tensor<?x130xi32>) : tensor<?x2x?x?xf32>
  %masked = attn.mask %same {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %end = arith.constant 17 : index
    %seen = arith.cmpi slt, %j, %end : index
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x2x?x?xf32>, tensor<?x1x?x16xf32>
  return %context : tensor<?x2x?x16xf32>
}

// A window that ends with the last key, and another that ends at the fifth.
func.func @below(%q: tensor<?x1x?x8xf32> {attn.dims = ["batch", 1, "q_len", 8]}, %pool: tensor<?x16x1x8xf32>,
                 %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]}) -> tensor<?x1x?x8xf32> {
  %k = attn.gather_pages %pool[%table] : tensor<?x16x1x8xf32>, tensor<?x?xi32>
  %score = attn.score %q, %k scale(0.25) : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>
  %near = attn.mask %score window(30, 0, bottom_right) : tensor<?x1x?x?xf32>
  %masked = attn.mask %near {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %end = arith.constant 5 : index
    %seen = arith.cmpi slt, %j, %end : index
    attn.yield %seen : i1
  } : tensor<?x1x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x1x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32>
  return %context : tensor<?x1x?x8xf32>
}

// The first pages hold no visible key.
func.func @in_later_pages(%q: tensor<?x1x?x8xf32> {attn.dims = ["batch", 1, "q_len", 8]}, %pool: tensor<?x16x1x8xf32>,
                          %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]}) -> tensor<?x1x?x8xf32> {
  %k = attn.gather_pages %pool[%table] : tensor<?x16x1x8xf32>, tensor<?x?xi32>
  %score = attn.score %q, %k scale(0.25) : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %first = arith.constant 100 : index
    %seen = arith.cmpi sge, %j, %first : index
    attn.yield %seen : i1
  } : tensor<?x1x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x1x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32>
  return %context : tensor<?x1x?x8xf32>
}
