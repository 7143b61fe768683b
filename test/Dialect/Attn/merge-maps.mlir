// RUN: attn-opt %s -attn-merge-maps -split-input-file | FileCheck %s

// Maps that only one other map reads are part of it; each operand is read once.
// CHECK-LABEL: func @chain
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x8xf32>, %[[B:[^ ]*]]: tensor<8xf32>
// CHECK: %[[R:.*]] = attn.map %[[X]], %[[B]] {
// CHECK: ^bb0(%[[XE:.*]]: f32, %[[BE:.*]]: f32):
// CHECK: %[[SUM:.*]] = arith.addf %[[XE]], %[[BE]]
// CHECK: %[[ERF:.*]] = math.erf %[[SUM]]
// CHECK: %[[RESULT:.*]] = arith.mulf %[[ERF]], %[[BE]]
// CHECK: attn.yield %[[RESULT]]
// CHECK-NOT: attn.map
// CHECK: return %[[R]]
func.func @chain(%x: tensor<?x8xf32>, %bias: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = attn.map %x, %bias {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>, tensor<8xf32>
  %1 = attn.map %0 {
  ^bb0(%a: f32):
    %s = math.erf %a : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>
  %2 = attn.map %1, %bias {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>, tensor<8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// Several maps that end in one are part of it.
// CHECK-LABEL: func @diamond
// CHECK: attn.map %arg0 {
// CHECK-COUNT-1: math.exp
// CHECK-NOT: attn.map
// CHECK: return
func.func @diamond(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = attn.map %x {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    attn.yield %s : f32
  } : tensor<?xf32>
  %1 = attn.map %0 {
  ^bb0(%a: f32):
    %s = math.log1p %a : f32
    attn.yield %s : f32
  } : tensor<?xf32>
  %2 = attn.map %0, %1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?xf32>, tensor<?xf32>
  return %2 : tensor<?xf32>
}

// -----

// A map that reads another one at places of its own as well keeps it.
// CHECK-LABEL: func @elsewhere
// CHECK: %[[EXP:.*]] = attn.map %arg0
// CHECK: attn.map %[[EXP]]
// CHECK: tensor.extract %[[EXP]]
func.func @elsewhere(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %0 = attn.map %x {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    attn.yield %s : f32
  } : tensor<8xf32>
  %1 = attn.map %0 {
  ^bb0(%a: f32):
    %first = tensor.extract %0[%c0] : tensor<8xf32>
    %s = arith.divf %a, %first : f32
    attn.yield %s : f32
  } : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What costs more than reading it is computed once for all that read it, and what something else
// reads stays.
// CHECK-LABEL: func @shared
// CHECK: %[[EXP:.*]] = attn.map %arg0
// CHECK: %[[SUM:.*]] = attn.reduce sum %[[EXP]]
// CHECK: attn.map %[[EXP]], %[[SUM]]
func.func @shared(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = attn.map %x {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>
  %1 = attn.reduce sum %0 axes [1] keep_dims : tensor<?x8xf32> -> tensor<?x1xf32>
  %2 = attn.map %0, %1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.divf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>, tensor<?x1xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// A difference costs no more than reading one.
// CHECK-LABEL: func @cheap
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x8xf32>, %[[Y:[^ ]*]]: tensor<8xf32>
// CHECK: attn.map %[[X]], %[[Y]] {
// CHECK: arith.subf
// CHECK: math.exp
// CHECK: attn.map %[[X]], %[[Y]] {
// CHECK: arith.subf
// CHECK: math.sin
// CHECK-NOT: attn.map
// CHECK: return
func.func @cheap(%x: tensor<?x8xf32>, %y: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>, tensor<8xf32>
  %1 = attn.map %0 {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>
  %2 = attn.map %0 {
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>
  return %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// What reads at places of its own makes a map of it do so, too.
// CHECK-LABEL: func @gather
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x8xf32>, %[[TABLE:[^ ]*]]: tensor<16xf32>, %[[I:[^ ]*]]: tensor<?xi64>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[R:.*]] = tensor.generate %[[ROWS]] {
// CHECK: ^bb0(%[[ROW:.*]]: index, %[[COLUMN:.*]]: index):
// CHECK-DAG: tensor.extract %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK-DAG: %[[AT:.*]] = tensor.extract %[[I]][%[[COLUMN]]]
// CHECK-DAG: %[[PLACE:.*]] = arith.index_cast %[[AT]]
// CHECK-DAG: tensor.extract %[[TABLE]][%[[PLACE]]]
// CHECK: tensor.yield
// CHECK-NOT: attn.map
// CHECK: return %[[R]]
func.func @gather(%x: tensor<?x8xf32>, %table: tensor<16xf32>, %indices: tensor<?xi64>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %picked = tensor.generate {
  ^bb0(%j: index):
    %at = tensor.extract %indices[%j] : tensor<?xi64>
    %place = arith.index_cast %at : i64 to index
    %element = tensor.extract %table[%place] : tensor<16xf32>
    tensor.yield %element : f32
  } : tensor<8xf32>
  %0 = attn.map %x, %picked {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?x8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Where only the call tells whether sizes are equal, the map is what checks them.
// CHECK-LABEL: func @unequal
// CHECK: tensor.generate
// CHECK: attn.map
func.func @unequal(%x: tensor<?xf32>, %y: tensor<?xf32>, %table: tensor<8xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %picked = tensor.generate %size {
  ^bb0(%j: index):
    %place = arith.remui %j, %size : index
    %element = tensor.extract %table[%place] : tensor<8xf32>
    tensor.yield %element : f32
  } : tensor<?xf32>
  %0 = attn.map %y, %picked {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  } : tensor<?xf32>, tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Of indices alone, it is left for attn-raise.
// CHECK-LABEL: func @indices
// CHECK: tensor.generate
// CHECK: attn.map
func.func @indices(%x: tensor<8xf32>) -> tensor<8xf32> {
  %positions = tensor.generate {
  ^bb0(%j: index):
    %i = arith.index_cast %j : index to i64
    %element = arith.sitofp %i : i64 to f32
    tensor.yield %element : f32
  } : tensor<8xf32>
  %0 = attn.map %x, %positions {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    attn.yield %s : f32
  } : tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Where a window slides over a tensor, its integers are computed on the way, floats before.
// CHECK-LABEL: func @windows
// CHECK-SAME: %[[X:[^ ]*]]: tensor<8xf32>, %[[I:[^ ]*]]: tensor<8xi64>
// CHECK: %[[HALF:.*]] = attn.map %[[X]]
// CHECK: tensor.generate
// CHECK-DAG: tensor.extract %[[HALF]]
// CHECK-DAG: tensor.extract %[[I]]
// CHECK-DAG: arith.addi
// CHECK: tensor.yield
func.func @windows(%x: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<4x4xf32> {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f32
  %0 = attn.map %x {
  ^bb0(%a: f32):
    %s = arith.mulf %a, %half : f32
    attn.yield %s : f32
  } : tensor<8xf32>
  %1 = attn.map %i {
  ^bb0(%a: i64):
    %s = arith.addi %a, %one : i64
    attn.yield %s : i64
  } : tensor<8xi64>
  %2 = tensor.generate {
  ^bb0(%row: index, %step: index):
    %at = arith.addi %row, %step : index
    %element = tensor.extract %0[%at] : tensor<8xf32>
    %count = tensor.extract %1[%at] : tensor<8xi64>
    %in = arith.cmpi slt, %count, %one : i64
    %r = arith.select %in, %element, %zero : f32
    tensor.yield %r : f32
  } : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A mask reads what a comparison made of its operands, for each of several scores.
// CHECK-LABEL: func @masks
// CHECK-SAME: %[[IDS:[^ ]*]]: tensor<?xi64>
// CHECK-NOT: attn.map
// CHECK: attn.mask
// CHECK: tensor.extract %[[IDS]]
// CHECK-NOT: attn.map
// CHECK: attn.mask
// CHECK: tensor.extract %[[IDS]]
func.func @masks(%ids: tensor<?xi64>, %s: tensor<1x2x?x?xf32>, %t: tensor<1x2x?x?xf32>) -> (tensor<1x2x?x?xf32>, tensor<1x2x?x?xf32>) {
  %zero = arith.constant 0 : i64
  %0 = attn.map %ids {
  ^bb0(%a: i64):
    %is = arith.cmpi ne, %a, %zero : i64
    attn.yield %is : i1
  } : tensor<?xi64> -> tensor<?xi1>
  %1 = attn.mask %s {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %is = tensor.extract %0[%k] : tensor<?xi1>
    attn.yield %is : i1
  } : tensor<1x2x?x?xf32>
  %2 = attn.mask %t {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %is = tensor.extract %0[%q] : tensor<?xi1>
    attn.yield %is : i1
  } : tensor<1x2x?x?xf32>
  return %1, %2 : tensor<1x2x?x?xf32>, tensor<1x2x?x?xf32>
}

// -----

// What follows from indices alone is computed wherever a region reads it, through reshapes,
// transposes and slices, and by as many as read it.
// CHECK-LABEL: func @positions
// CHECK-SAME: %{{.*}}: tensor<8x16xi64>, %[[N:[^ ]*]]: index
// CHECK: %[[ROWS:.*]] = tensor.generate {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[J:.*]]: index):
// CHECK: %[[CAST:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: tensor.yield %[[CAST]] : i64
// CHECK-NOT: tensor.generate
// CHECK: attn.mask %{{.*}} {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[Q:.*]]: index, %[[K:.*]]: index):
// CHECK: %[[ROW:.*]] = arith.index_cast %[[Q]] : index to i64
// CHECK: %[[FROM:.*]] = arith.addi %[[N]], %[[K]] : index
// CHECK: %[[COLUMN:.*]] = arith.index_cast %[[FROM]] : index to i64
// CHECK: %[[IS:.*]] = arith.cmpi sle, %[[COLUMN]], %[[ROW]] : i64
// CHECK-NEXT: attn.yield %[[IS]] : i1
// CHECK: tensor.concat dim(0) %{{.*}}, %[[ROWS]]
func.func @positions(%ids: tensor<8x16xi64>, %n: index, %s: tensor<1x2x16x8xf32>) -> (tensor<1x2x16x8xf32>, tensor<9x16xi64>) {
  %range = tensor.generate {
  ^bb0(%i: index):
    %x = arith.index_cast %i : index to i64
    tensor.yield %x : i64
  } : tensor<16xi64>
  %rows = tensor.expand_shape %range [[0, 1]] output_shape [1, 16] : tensor<16xi64> into tensor<1x16xi64>
  %columns = attn.transpose %rows [1, 0] : tensor<1x16xi64> -> tensor<16x1xi64>
  %part = tensor.extract_slice %rows[0, %n] [1, 8] [1, 1] : tensor<1x16xi64> to tensor<1x8xi64>
  %visible = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c0 = arith.constant 0 : index
    %x = tensor.extract %columns[%i, %c0] : tensor<16x1xi64>
    %y = tensor.extract %part[%c0, %j] : tensor<1x8xi64>
    %is = arith.cmpi sle, %y, %x : i64
    tensor.yield %is : i1
  } : tensor<16x8xi1>
  %masked = attn.mask %s {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %is = tensor.extract %visible[%q, %k] : tensor<16x8xi1>
    attn.yield %is : i1
  } : tensor<1x2x16x8xf32>
  %all = tensor.concat dim(0) %ids, %rows : (tensor<8x16xi64>, tensor<1x16xi64>) -> tensor<9x16xi64>
  return %masked, %all : tensor<1x2x16x8xf32>, tensor<9x16xi64>
}

// -----

// A reshape that undoes another one leaves no division.
// CHECK-LABEL: func @undone
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x4xf32>, %[[N:[^ ]*]]: index
// CHECK: tensor.generate %[[N]] {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[I]], %[[J]]
// CHECK-NEXT: %[[READ:.*]] = tensor.extract %[[X]][%[[AT]], %[[J]]]
// CHECK-NEXT: tensor.yield %[[READ]]
func.func @undone(%x: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
  %c4 = arith.constant 4 : index
  %size = arith.muli %n, %c4 : index
  %0 = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %at = arith.addi %i, %j : index
    tensor.yield %at : index
  } : tensor<?x4xindex>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<?x4xindex> into tensor<?xindex>
  %2 = tensor.generate %size {
  ^bb0(%i: index):
    %at = tensor.extract %1[%i] : tensor<?xindex>
    tensor.yield %at : index
  } : tensor<?xindex>
  %3 = tensor.expand_shape %2 [[0, 1]] output_shape [%n, 4] : tensor<?xindex> into tensor<?x4xindex>
  %4 = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %at = tensor.extract %3[%i, %j] : tensor<?x4xindex>
    %element = tensor.extract %x[%at, %j] : tensor<?x4xf32>
    tensor.yield %element : f32
  } : tensor<?x4xf32>
  return %4 : tensor<?x4xf32>
}

// -----

// A table of a few constants is part of what reads it, and a larger one is made once.
// CHECK-LABEL: func @tables
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4xf32>
// CHECK-DAG: %[[FEW:.*]] = arith.constant dense<[3, 1, 2, 0]>
// CHECK-DAG: %[[MANY:.*]] = arith.constant dense_resource<many>
// CHECK: %[[MADE:.*]] = tensor.generate
// CHECK: tensor.extract %[[MANY]]
// CHECK: tensor.generate
// CHECK-NOT: tensor.generate
// CHECK: tensor.extract %[[FEW]]
// CHECK: tensor.extract %[[MADE]]
func.func @tables(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<96xi64>) {
  %few = arith.constant dense<[3, 1, 2, 0]> : tensor<4xi64>
  %many = arith.constant dense_resource<many> : tensor<96xi64>
  %one = arith.constant 1 : i64
  %0 = tensor.generate {
  ^bb0(%i: index):
    %a = tensor.extract %few[%i] : tensor<4xi64>
    %b = arith.xori %a, %one : i64
    tensor.yield %b : i64
  } : tensor<4xi64>
  %1 = tensor.generate {
  ^bb0(%i: index):
    %a = tensor.extract %many[%i] : tensor<96xi64>
    %b = arith.xori %a, %one : i64
    tensor.yield %b : i64
  } : tensor<96xi64>
  %2 = tensor.generate {
  ^bb0(%i: index):
    %a = tensor.extract %0[%i] : tensor<4xi64>
    %b = tensor.extract %1[%i] : tensor<96xi64>
    %sum = arith.addi %a, %b : i64
    %at = arith.index_cast %sum : i64 to index
    %element = tensor.extract %x[%at] : tensor<4xf32>
    tensor.yield %element : f32
  } : tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<96xi64>
}

{-#
  dialect_resources: { builtin: { many: "0x0800000000000000" } }
#-}
