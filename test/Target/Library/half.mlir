// A sum, which is one of f64, becomes an f16 without a call of the compiler's own library, which
// nothing says is there where a library is loaded.

// REQUIRES: attnc
// RUN: attnc compile %s -o %t --shared
// RUN: %python -c "import ctypes; ctypes.CDLL('%t/libhalf.so', mode=2)"

func.func @half(%x: tensor<7x33xf16>) -> tensor<7xf16> {
  %sum = attn.reduce sum %x axes [1] : tensor<7x33xf16> -> tensor<7xf16>
  return %sum : tensor<7xf16>
}
