// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

halide.pipeline @shift {
  %in = halide.input "in" [64, ?] : !halide.func<f32, 2>
  %f = halide.func "shift" [%x, %y] : f32 {
    %v = halide.at %in[%x, %y] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %f [64, ?] : !halide.func<f32, 2>
}

// CHECK-LABEL: func.func @host
// CHECK-SAME: (%[[IN:.*]]: memref<?x64xf32>, %[[OUT:.*]]: memref<?x64xf32>)
// CANONICAL-LABEL: func.func @host
func.func @host(%in: memref<?x64xf32>, %out: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %in, %c0 : memref<?x64xf32>
  // CHECK: %[[SOME:.*]] = arith.cmpi
  %some = arith.cmpi sgt, %n, %c0 : index
  // CHECK: host.require %[[SOME]], "expected rows"
  // CANONICAL: host.require
  host.require %some, "expected rows"
  // CHECK: host.require %[[SOME]], "expected rows, found {} of {}"(%{{.*}}, %{{.*}})
  // CANONICAL: host.require
  host.require %some, "expected rows, found {} of {}"(%n, %c0)
  // CHECK: host.call @shift(%[[IN]], %[[OUT]]) : memref<?x64xf32>, memref<?x64xf32>
  host.call @shift(%in, %out) : memref<?x64xf32>, memref<?x64xf32>
  // CHECK: host.call @shift(%[[IN]], %[[OUT]]) if(%[[SOME]]) : memref<?x64xf32>, memref<?x64xf32>
  host.call @shift(%in, %out) if(%some) : memref<?x64xf32>, memref<?x64xf32>
  // CHECK: host.load %[[OUT]][%{{.*}}, %{{.*}}] : memref<?x64xf32>
  // What nobody uses is not read.
  // CANONICAL-NOT: host.load
  %element = host.load %out[%c0, %c0] : memref<?x64xf32>
  // What always holds is not asked for.
  // CANONICAL-NOT: host.require
  %true = arith.constant true
  host.require %true, "expected nothing"
  return
}

// CHECK-LABEL: func.func @exchange
func.func @exchange(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %at = memref.alloc() : memref<2xi32>
  // CHECK: host.rank %{{.*}} : memref<2xi32>
  host.rank %at : memref<2xi32>
  // CHECK: %[[PLACES:.*]] = host.allocate %{{.*}} : memref<?xi32>
  %places = host.allocate %n : memref<?xi32>
  // CHECK: host.places %{{.*}} layout 1 to %[[PLACES]] : memref<?xi32>
  host.places %n layout 1 to %places : memref<?xi32>
  // CHECK: host.gather %{{.*}}, %[[PLACES]] to %{{.*}} layout 0 along 0 halo [3, 0] : memref<?xi32>, memref<?xi32>, memref<?xi32>
  host.gather %places, %places to %places layout 0 along 0 halo [3, 0] : memref<?xi32>, memref<?xi32>, memref<?xi32>
  // CHECK: host.agree %{{.*}}, %{{.*}}
  host.agree %n, %c1
  // CHECK: scf.for %[[ROUND:.*]] =
  scf.for %round = %c0 to %n step %c1 {
    // CHECK: host.pass %{{.*}} to %{{.*}} : memref<?xf32>, memref<?xf32>
    host.pass %a to %b : memref<?xf32>, memref<?xf32>
    // CHECK: %[[IS:.*]] = host.trade %[[ROUND]], %{{.*}} to %{{.*}} : memref<?xf32>, memref<?xf32>
    %is = host.trade %round, %a to %b : memref<?xf32>, memref<?xf32>
    // CHECK: scf.if %[[IS]]
    scf.if %is {
      // CHECK: host.wait
      host.wait
    }
  }
  return
}
