// Numbers that 32 bits don't hold, compared with positions: as wide as can be, and as low.

// RUN: attnc verify %s --function lengths --size len=21 | FileCheck %s
// RUN: attnc verify %s --function form --size len=21 | FileCheck %s
// RUN: attnc verify %s --function sums --size len=70 | FileCheck %s
// RUN: attnc verify %s --function bytes --size len=200 | FileCheck %s
// RUN: %python -c "import numpy; numpy.save('%t.npy', numpy.array([-2**63, 2**63 - 1]))"
// RUN: attnc verify %s --function apart --size len=70 --input n=@%t.npy | FileCheck %s
// RUN: attnc verify %s --function together --size len=70 | FileCheck %s
// RUN: %python -c "import numpy; numpy.save('%t.npy', numpy.array([2**40, 2**40 + 5]))"
// RUN: attnc verify %s --function shifted --size len=70 --input n=@%t.npy | FileCheck %s
// RUN: %python -c "import numpy; numpy.save('%t.npy', numpy.array([2**31 - 1, 2**31 - 9], 'i4'))"
// RUN: attnc verify %s --function wrapped --size len=70 --input n=@%t.npy | FileCheck %s
// RUN: attnc verify %s --function product --size len=70 | FileCheck %s
// RUN: attnc verify %s --function far --size len=10,33 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @lengths(%query: tensor<3x1x?x16xf32> {attn.name = "query", attn.dims = [3, 1, "len", 16]},
                   %key: tensor<3x1x?x16xf32> {attn.name = "key", attn.dims = [3, 1, "len", 16]}) -> tensor<3x1x?x16xf32> {
  %n = arith.constant dense<[9223372036854775807, -9223372036854775808, 4294967299]> : tensor<3xi64>
  %score = attn.score %query, %key : tensor<3x1x?x16xf32>, tensor<3x1x?x16xf32> -> tensor<3x1x?x?xf32>
  %mask = attn.mask %score kv_lengths(%n : tensor<3xi64>) : tensor<3x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<3x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<3x1x?x?xf32>, tensor<3x1x?x16xf32> -> tensor<3x1x?x16xf32>
  return %context : tensor<3x1x?x16xf32>
}

func.func @form(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
                %key: tensor<1x1x8x16xf32>) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x8x16xf32> -> tensor<1x1x?x8xf32>
  %mask = attn.mask %score window(9223372036854775807, 3, bottom_right) block(4294967296) : tensor<1x1x?x8xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x8xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x8xf32>, tensor<1x1x8x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// A comparison is always true whose constant is far behind all keys, in any type that holds it. Those
// that may be false are of the same numbers on both sides.
func.func @sums(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
                %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]}) -> tensor<1x1x?x16xf32> {
  %n = arith.constant dense<[2147483647]> : tensor<1xi32>
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %wide = arith.constant 4611686018427387904 : i64
    %less = arith.constant 1152921504606846976 : i64
    %most = arith.constant 2147483647 : i32
    %far = arith.constant 2147483647 : index
    %q64 = arith.index_cast %q : index to i64
    %k64 = arith.index_cast %k : index to i64
    %k32 = arith.index_cast %k : index to i32
    %read = tensor.extract %n[%b] : tensor<1xi32>

    %first = arith.subi %q64, %wide : i64
    %last = arith.addi %q64, %wide : i64
    %0 = arith.cmpi sge, %k64, %first : i64
    %1 = arith.cmpi sle, %k64, %last : i64
    %2 = arith.cmpi sle, %k32, %most : i32
    %3 = arith.cmpi sle, %k32, %read : i32
    %behind = arith.addi %q, %far : index
    %4 = arith.cmpi sle, %k, %behind : index
    %5 = arith.cmpi sle, %k, %far : index
    %shifted_k = arith.addi %k64, %less : i64
    %shifted_q = arith.addi %q64, %less : i64
    %6 = arith.cmpi sle, %shifted_k, %shifted_q : i64

    %7 = arith.andi %0, %1 : i1
    %8 = arith.andi %2, %3 : i1
    %9 = arith.andi %4, %5 : i1
    %10 = arith.andi %7, %8 : i1
    %11 = arith.andi %9, %6 : i1
    %12 = arith.andi %10, %11 : i1
    attn.yield %12 : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// In 8 bits, the key 128 is -128.
func.func @bytes(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
                 %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %limit = arith.constant 100 : i8
    %first = arith.constant -100 : i8
    %byte = arith.index_cast %k : index to i8
    %below = arith.cmpi slt, %byte, %limit : i8
    %above = arith.cmpi sge, %byte, %first : i8
    %seen = arith.andi %below, %above : i1
    attn.yield %seen : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// What is compared lies as far apart as 64 bits let it.
func.func @apart(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
                 %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]},
                 %n: tensor<2xi64> {attn.name = "n"}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %low = tensor.extract %n[%c0] : tensor<2xi64>
    %high = tensor.extract %n[%c1] : tensor<2xi64>
    %k64 = arith.index_cast %k : index to i64
    %sum = arith.addi %low, %k64 : i64
    %0 = arith.cmpi sle, %sum, %high : i64
    attn.yield %0 : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// Each side fits 32 bits, but not their difference.
func.func @together(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
               %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c = arith.constant 1073741824 : index
    %first = arith.subi %k, %c : index
    %last = arith.addi %q, %c : index
    %0 = arith.cmpi sle, %first, %last : index
    %c32 = arith.constant 1073741824 : i32
    %k32 = arith.index_cast %k : index to i32
    %q32 = arith.index_cast %q : index to i32
    %first32 = arith.subi %k32, %c32 : i32
    %last32 = arith.addi %q32, %c32 : i32
    %1 = arith.cmpi sle, %first32, %last32 : i32
    %2 = arith.andi %0, %1 : i1
    attn.yield %2 : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// Numbers of 2^40 on both sides: no limit, and a distance of 5.
func.func @shifted(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
               %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]},
               %n: tensor<2xi64> {attn.name = "n"}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a64 = tensor.extract %n[%c0] : tensor<2xi64>
    %b64 = tensor.extract %n[%c1] : tensor<2xi64>
    %a = arith.index_cast %a64 : i64 to index
    %b1 = arith.index_cast %b64 : i64 to index
    %below = arith.subi %k, %a : index
    %above = arith.addi %q, %b1 : index
    %0 = arith.cmpi sle, %below, %above : index
    %ka = arith.addi %k, %a : index
    %qb = arith.addi %q, %b1 : index
    %1 = arith.cmpi sle, %ka, %qb : index
    %2 = arith.andi %0, %1 : i1
    attn.yield %2 : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// Sums that wrap around in their own type see other keys than the numbers would.
func.func @wrapped(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
               %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]},
               %n: tensor<2xi32> {attn.name = "n"}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n0 = tensor.extract %n[%c0] : tensor<2xi32>
    %n1 = tensor.extract %n[%c1] : tensor<2xi32>
    %k32 = arith.index_cast %k : index to i32
    %q32 = arith.index_cast %q : index to i32
    %behind = arith.addi %k32, %n0 : i32
    %0 = arith.cmpi sle, %behind, %q32 : i32
    %limit = arith.addi %q32, %n1 : i32
    %1 = arith.cmpi sle, %k32, %limit : i32
    %2 = arith.ori %0, %1 : i1
    %3 = arith.andi %0, %2 : i1
    attn.yield %3 : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

func.func @product(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
               %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]}) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c = arith.constant 4294967296 : index
    %p = arith.muli %q, %c : index
    %r = arith.cmpi sle, %k, %p : index
    attn.yield %r : i1
  } : tensor<1x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// Both sides are far from zero, and a key's distance from a row is small.
func.func @far(%query: tensor<1x1x12x16xf32>,
               %key: tensor<1x1x?x16xf32> {attn.name = "key", attn.dims = [1, 1, "len", 16]}) -> tensor<1x1x12x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x12x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x12x?xf32>
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %far = arith.constant 4611686018427387904 : i64
    %q64 = arith.index_cast %q : index to i64
    %k64 = arith.index_cast %k : index to i64
    %q_far = arith.subi %q64, %far : i64
    %k_far = arith.subi %k64, %far : i64
    %visible = arith.cmpi sgt, %k_far, %q_far : i64
    attn.yield %visible : i1
  } : tensor<1x1x12x?xf32>
  %prob = attn.softmax %mask : tensor<1x1x12x?xf32>
  %context = attn.context %prob, %key : tensor<1x1x12x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x1x12x16xf32>
  return %context : tensor<1x1x12x16xf32>
}
