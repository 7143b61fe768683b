//===- Erf.h - the error function in f32 ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Minimax polynomials, coefficients from the highest power down.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ERF_H
#define ATTNC_DIALECT_ATTN_ERF_H

namespace mlir::attn {

/// Of (erf(x) / x - 1) in x², for |x| below `kErfTailFrom`.
constexpr float kErfNearZero[] = {-5.96761703e-4f, 4.99119423e-3f,  -2.67681349e-2f,
                                  1.12819925e-1f,  -3.76125336e-1f, 1.28379166e-1f};
constexpr float kErfTailFrom = 0.927734375f;
/// Of log2(1 - erf |x|) / |x| in |x|; erf is 1 in f32 from `kLargestErf` on.
constexpr float kErfTail[] = {-2.49374844e-05f, 5.52836593e-04f,  -5.60337615e-03f, 3.49920227e-02f,
                              -1.54047914e-01f, -9.15890167e-01f, -1.62839516e+00f};
constexpr float kLargestErf = 4;

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ERF_H
