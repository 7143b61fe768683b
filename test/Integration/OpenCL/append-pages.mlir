// Rows appended to keys in pages on a GPU, and none without sequences or pages.
// RUN: attnc verify %s --target host-opencl --function table | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function table --size batch=0,num_pages=9 | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function table --size max_pages=0,new=0,num_pages=9 | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function csr | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function csr --size batch=0,num_indices=0,num_offsets=1,num_pages=9 | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function packed | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function packed --size batch=0,num_offsets=1,total=0,num_pages=9 | FileCheck %s
// RUN: attnc verify %s --target host-opencl --function packed --size max_pages=0,total=0,num_pages=9 | FileCheck %s
// CHECK: cases, all within the allowed error

!pages = tensor<?x4x2x8xf32>
!rows = tensor<?x2x?x8xf32>
!numbers = tensor<?xi32>

func.func @table(%pool: !pages {attn.dims = ["num_pages", 4, 2, 8]}, %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                 %rows: !rows {attn.dims = ["batch", 2, "new", 8]}, %length: !numbers, %counts: !numbers) -> !pages {
  %next = attn.append_pages %pool[%table], %rows, %length counts(%counts : !numbers)
      : !pages, tensor<?x?xi32>, !rows, !numbers
  return %next : !pages
}

func.func @csr(%pool: !pages {attn.dims = ["num_pages", 4, 2, 8]}, %indices: !numbers {attn.dims = ["num_indices"]},
               %indptr: !numbers {attn.dims = ["num_offsets"]}, %rows: !rows {attn.dims = ["batch", 2, "new", 8]},
               %length: !numbers, %counts: !numbers) -> !pages {
  %next = attn.append_pages %pool[%indices] offsets(%indptr : !numbers), %rows, %length counts(%counts : !numbers)
      : !pages, !numbers, !rows, !numbers
  return %next : !pages
}

func.func @packed(%pool: !pages {attn.dims = ["num_pages", 4, 2, 8]}, %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                  %rows: tensor<1x2x?x8xf32> {attn.dims = [1, 2, "total", 8]}, %offsets: !numbers {attn.dims = ["num_offsets"]},
                  %length: !numbers) -> !pages {
  %next = attn.append_pages %pool[%table], %rows, %length row_offsets(%offsets : !numbers)
      : !pages, tensor<?x?xi32>, tensor<1x2x?x8xf32>, !numbers
  return %next : !pages
}
