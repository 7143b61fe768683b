// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// In place, the cache is not copied, and the kernel writes rows alone.
// CHECK-LABEL: halide.pipeline @in_place_append_cache
// CHECK: halide.func "result"
// CHECK-NEXT: %[[NOTHING:.*]] = halide.undef : f32
// CHECK-NEXT: halide.yield %[[NOTHING]]
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: attn.in_place = 0 : i64
// CHECK: %[[CACHE:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[RESULT:.*]] = memref.extract_aligned_pointer_as_index %arg3
// CHECK: %[[ELSEWHERE:.*]] = arith.cmpi ne, %[[CACHE]], %[[RESULT]]
// CHECK: host.call @in_place_copy{{.*}}(%arg0, %arg3) if(%[[ELSEWHERE]])
// CHECK: host.call @in_place_append_cache
func.func @in_place(%cache: tensor<2x2x9x8xf32>, %rows: tensor<2x2x?x8xf32>, %length: tensor<2xi32>) -> tensor<2x2x9x8xf32> {
  %c = attn.append_cache %cache, %rows, %length : tensor<2x2x9x8xf32>, tensor<2x2x?x8xf32>, tensor<2xi32>
  return %c : tensor<2x2x9x8xf32>
}

// What is computed is copied.
// CHECK-LABEL: func.func @computed(
// CHECK: host.call @computed_copy{{[^(]*}}(%{{[^)]*}}) :
// CHECK: host.call @{{.*}}append_cache
func.func @computed(%cache: tensor<2x2x9x8xf32>, %rows: tensor<2x2x1x8xf32>, %length: tensor<2xi32>) -> tensor<2x2x9x8xf32> {
  %d = arith.addf %cache, %cache : tensor<2x2x9x8xf32>
  %c = attn.append_cache %d, %rows, %length : tensor<2x2x9x8xf32>, tensor<2x2x1x8xf32>, tensor<2xi32>
  return %c : tensor<2x2x9x8xf32>
}
