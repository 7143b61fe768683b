// Which keys a mask shows, as ranges in q, k and sizes.
// RUN: attnc explain %s --function sinks | FileCheck %s --check-prefix=SINKS
// SINKS: row q sees keys [0, min(3, q)] and [q - 69, q];
// RUN: attnc explain %s --function prefix | FileCheck %s --check-prefix=PREFIX
// PREFIX: row q sees keys [0, q] and [0, prefix[b]);
// RUN: attnc explain %s --function parity | FileCheck %s --check-prefix=PARITY
// PARITY: row q may see any key: the mask's conditions give no bounds for k;
// RUN: attnc explain %s --function near | FileCheck %s --check-prefix=NEAR
// NEAR: row q sees keys [max(q - 7, 2·start[b] + 1), kv_len), by further conditions not all of them;
// RUN: attnc explain %s --function unnamed | FileCheck %s --check-prefix=UNNAMED
// UNNAMED: mask reads arg2; row q sees keys [0, arg2[b]);

// And drawn, for the first batch and head of a call.
// RUN: attnc explain %s --function sinks --size q_len=32,kv_len=32 --size batch=1 | FileCheck %s --check-prefix=DRAWN --match-full-lines --strict-whitespace
//      DRAWN:    its 32 rows (down) see 51.6 % of 32 keys (across):
// DRAWN-NEXT:      │█▒                              │
// DRAWN-NEXT:      │███▒                            │
// DRAWN-NEXT:      │█████▒                          │
// RUN: attnc explain %s --function prefix --size q_len=4,kv_len=8 --size batch=1 --input prefix=ones --json | FileCheck %s --check-prefix=JSON
// JSON: "visible_keys": {
// JSON-NEXT: "evaluated_rows": 4,
// JSON-NEXT: "kv_len": 8,
// JSON-NEXT: "picture": [
// JSON-NEXT: "█▒      ",
// JSON-NEXT: "███▒    "
// JSON-NEXT: ],
// JSON-NEXT: "q_len": 4,
// JSON-NEXT: "share": 0.3125

// Every row of a small mask counts, every few of a large one.
// RUN: attnc explain %s --function sinks --size q_len=31,kv_len=32,batch=1 | FileCheck %s --check-prefix=ALL
// ALL: its 31 rows (down) see 50.0 % of 32 keys (across):
// RUN: attnc explain %s --function sinks --size q_len=2000,kv_len=2000,batch=1 | FileCheck %s --check-prefix=ABOUT
// ABOUT: its 2000 rows (down) see about 3.6 % of 2000 keys (across):

// RUN: %exits 1 attnc explain %s --function sinks --size q_len=32 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: --size: error: expected sizes of batch, kv_len, found none
// RUN: %exits 2 attnc explain %s --function sinks --size q_len=32,64 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: --size: error: expected one size of q_len, found 2

func.func @sinks(%q: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "q_len", 8]},
                %k: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]}) -> tensor<?x2x?x8xf32> {
  %s = attn.score %q, %k scale(0.25) : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %sinks = arith.constant 4 : index
    %width = arith.constant 70 : index
    %isSink = arith.cmpi slt, %j, %sinks : index
    %distance = arith.subi %i, %j : index
    %isNear = arith.cmpi slt, %distance, %width : index
    %isBefore = arith.cmpi sle, %j, %i : index
    %either = arith.ori %isSink, %isNear : i1
    %seen = arith.andi %either, %isBefore : i1
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}

func.func @prefix(%q: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "q_len", 8]},
                %k: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]},
                %prefix: tensor<?xi32> {attn.dims = ["batch"], attn.name = "prefix"}) -> tensor<?x2x?x8xf32> {
  %s = attn.score %q, %k scale(0.25) : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s prefix(%prefix : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}

func.func @parity(%q: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "q_len", 8]},
                %k: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]}) -> tensor<?x2x?x8xf32> {
  %s = attn.score %q, %k scale(0.25) : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %r = arith.remui %j, %two : index
    %o = arith.remui %i, %two : index
    %seen = arith.cmpi eq, %r, %o : index
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}

func.func @near(%q: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "q_len", 8]},
                %k: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]},
                %start: tensor<?xi32> {attn.dims = ["batch"], attn.name = "start"}) -> tensor<?x2x?x8xf32> {
  %s = attn.score %q, %k scale(0.25) : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %seven = arith.constant 7 : index
    %from = tensor.extract %start[%b] : tensor<?xi32>
    %begin = arith.index_cast %from : i32 to index
    %twice = arith.muli %begin, %two : index
    %first = arith.subi %i, %seven : index
    %isBehind = arith.cmpi sgt, %j, %twice : index
    %isNear = arith.cmpi sge, %j, %first : index
    %both = arith.andi %isNear, %isBehind : i1
    %r = arith.remui %j, %two : index
    %isOdd = arith.cmpi ne, %r, %i : index
    %seen = arith.andi %both, %isOdd : i1
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}

func.func @unnamed(%0: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "q_len", 8]},
                   %1: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]},
                   %2: tensor<?xi32> {attn.dims = ["batch"]}) -> tensor<?x2x?x8xf32> {
  %s = attn.score %0, %1 scale(0.25) : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s kv_lengths(%2 : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %1 : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}
