// What the reference can't evaluate is an error at the op.
//
// RUN: %exits 1 attnc run %s --reference --function unknown 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %exits 1 attnc run %s --reference --function outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: %exits 1 attnc run %s --reference --function sizes --input a=ones:2x1x3x4 \
// RUN:   --input b=ones:1x1x3x4 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: %python -c "import numpy; numpy.save('%t.n.npy', numpy.array([5, 5], 'i4'))"
// RUN: %exits 1 attnc run %s --reference --function pages --input table=ones --input n=ones 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PAGES
// RUN: %exits 1 attnc run %s --reference --function pages --input table=zeros --input n=@%t.n.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LENGTHS
// RUN: %exits 1 attnc run %s --reference --function append --input table=ones --input n=ones 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TAKEN
// RUN: %exits 1 attnc run %s --reference --function append --input table=zeros --input n=@%t.n.npy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ROOM
// RUN: %python -c "import numpy; numpy.save('%t.o.npy', numpy.array([0, 0, 2], 'i4')); numpy.save('%t.e.npy', numpy.array([0, 1, 2], 'i4'))"
// RUN: %exits 1 attnc run %s --reference --function append_csr --input table=ones --input o=zeros --input n=ones 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CSR-OFFSETS
// RUN: %exits 1 attnc run %s --reference --function append_csr --input table=ones --input o=@%t.o.npy --input n=ones 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CSR-ROOM
// RUN: %exits 1 attnc run %s --reference --function append_csr --input table=ones --input o=@%t.e.npy --input n=ones 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CSR-TAKEN
// RUN: %exits 1 attnc run %s --reference --function packed --input o=ones 2>&1 | FileCheck %s --check-prefix=OFFSETS
// RUN: %exits 1 attnc run %s --reference --function wide 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: %exits 1 attnc run %s --function wide 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: %exits 1 attnc explain %s --function wide --draw 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: %exits 1 attnc run %s --reference --function vectors 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: %exits 1 attnc run %s --reference --function complex 2>&1 | FileCheck %s --check-prefix=COMPLEX
// RUN: %exits 1 attnc run %s --reference --function inner 2>&1 | FileCheck %s --check-prefix=INNER
// RUN: %exits 2 attnc run %s --function outside --f64 2>&1 | FileCheck %s --check-prefix=F64
// RUN: attnc compile %s --function sizes --emit halide -o - > %t
// RUN: %exits 1 attnc run %t --reference 2>&1 | FileCheck %s --check-prefix=STAGE

// F64: --f64: error: expected --reference with it: kernels compute in the spec's types
// STAGE: error: expected a graph of attn ops, found scheduled pipelines

func.func @unknown() -> tensor<1xf32> {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1xf32>
  %t = tensor.insert %x into %e[%c0] : tensor<1xf32>
  // UNKNOWN: [[#@LINE-1]]:8: error: expected an op that the reference evaluates, found tensor.insert
  return %t : tensor<1xf32>
}

func.func @outside() -> tensor<1x1x1x3xf32> {
  %s = arith.constant dense<0.0> : tensor<1x1x1x3xf32>
  %bias = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %m = attn.modify_score %s {
  ^bb0(%score: f32, %b: index, %h: index, %q: index, %k: index):
    // OUTSIDE: [[#@LINE+1]]:10: error: expected index 0 to be below 2, found 2
    %e = tensor.extract %bias[%k] : tensor<2xf32>
    attn.yield %e : f32
  } : tensor<1x1x1x3xf32>
  return %m : tensor<1x1x1x3xf32>
}

func.func @sizes(%a: tensor<?x1x?x4xf32> {attn.name = "a", attn.dims = ["batch", 1, "rows", 4]},
                 %b: tensor<?x1x?x4xf32> {attn.name = "b", attn.dims = ["other", 1, "keys", 4]}) -> tensor<?x1x?x?xf32> {
  // SIZES: [[#@LINE+1]]:8: error: expected key batch 2 to match query, found 1
  %s = attn.score %a, %b : tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32> -> tensor<?x1x?x?xf32>
  return %s : tensor<?x1x?x?xf32>
}

func.func @pages(%table: tensor<2x2xi32>, %n: tensor<2xi32>) -> tensor<2x1x4x1xf32> {
  %pool = arith.constant dense<0.0> : tensor<1x2x1x1xf32>
  // PAGES: [[#@LINE+2]]:8: error: expected entry 0 of sequence 0 of the page table to be one of 1 pages, found 1
  // LENGTHS: [[#@LINE+1]]:8: error: expected the length of sequence 0 to be 0 to 4, found 5
  %r = attn.gather_pages %pool[%table] lengths(%n : tensor<2xi32>) : tensor<1x2x1x1xf32>, tensor<2x2xi32>
  return %r : tensor<2x1x4x1xf32>
}

func.func @append(%table: tensor<2x2xi32>, %n: tensor<2xi32>) -> tensor<3x2x1x1xf32> {
  %pool = arith.constant dense<0.0> : tensor<3x2x1x1xf32>
  %rows = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  // TAKEN: [[#@LINE+2]]:8: error: expected entry 0 of sequence 1 of the page table to be a page that no other entry appends to, found page 1 of entry 0 of sequence 0
  // ROOM: [[#@LINE+1]]:8: error: expected the length of sequence 0 to leave room for 1 of 4 keys, found 5
  %r = attn.append_pages %pool[%table], %rows, %n : tensor<3x2x1x1xf32>, tensor<2x2xi32>, tensor<2x1x1x1xf32>, tensor<2xi32>
  return %r : tensor<3x2x1x1xf32>
}

func.func @append_csr(%table: tensor<2xi32>, %o: tensor<3xi32>, %n: tensor<2xi32>) -> tensor<3x2x1x1xf32> {
  %pool = arith.constant dense<0.0> : tensor<3x2x1x1xf32>
  %rows = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  // CSR-OFFSETS: [[#@LINE+3]]:8: error: expected offset 2 to be 0 first, not to decrease, and 2 last, found 0
  // CSR-ROOM: [[#@LINE+2]]:8: error: expected the length of sequence 0 to leave room for 1 of 0 keys, found 1
  // CSR-TAKEN: [[#@LINE+1]]:8: error: expected entry 0 of sequence 1 of the page table to be a page that no other entry appends to, found page 1 of entry 0 of sequence 0
  %r = attn.append_pages %pool[%table] offsets(%o : tensor<3xi32>), %rows, %n : tensor<3x2x1x1xf32>, tensor<2xi32>, tensor<2x1x1x1xf32>, tensor<2xi32>
  return %r : tensor<3x2x1x1xf32>
}

func.func @packed(%o: tensor<3xi32>) -> tensor<2x1x3x1xf32> {
  %rows = arith.constant dense<0.0> : tensor<3x1x1xf32>
  // OFFSETS: [[#@LINE+1]]:8: error: expected offset 0 to be 0 first, not to decrease, and 3 last, found 1
  %r = attn.unpack_rows %rows offsets(%o) : tensor<3x1x1xf32>, tensor<3xi32>
  return %r : tensor<2x1x3x1xf32>
}

// WIDE: [[#@LINE+1]]:17: error: expected i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits as elements of argument 0, found 'i128'
func.func @wide(%a: tensor<2xi128>) -> tensor<2xi128> {
  return %a : tensor<2xi128>
}

func.func @vectors(%n: tensor<1xi32>,
                   // VECTORS: [[#@LINE+1]]:20: error: expected i1, {{.*}} as elements of argument 1, found 'vector<2xf32>'
                   %a: tensor<2xvector<2xf32>>) -> tensor<1xi32> {
  return %n : tensor<1xi32>
}

// COMPLEX: [[#@LINE+1]]:1: error: expected i1, {{.*}} as elements of result 0, found 'complex<f32>'
func.func @complex() -> tensor<1xcomplex<f32>> {
  %c = arith.constant dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
  return %c : tensor<1xcomplex<f32>>
}

func.func @inner(%n: tensor<1xi64>) -> tensor<1xi64> {
  %r = attn.map %n {
  ^bb0(%a: i64):
    // INNER: [[#@LINE+1]]:10: error: expected integers of at most 64 bits, found 'i128'
    %w = arith.extsi %a : i64 to i128
    %c64 = arith.constant 64 : i128
    %m = arith.muli %w, %w : i128
    %h = arith.shrsi %m, %c64 : i128
    %t = arith.trunci %h : i128 to i64
    attn.yield %t : i64
  } : tensor<1xi64>
  return %r : tensor<1xi64>
}
