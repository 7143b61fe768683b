# Most of a build's time goes into the headers of MLIR and Halide: libraries share them, compiled
# once. A file still includes what it uses: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON checks that.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")

# The first library compiles the headers, the others use them.
function(attnc_share_headers OWNER)
  target_precompile_headers(${OWNER} PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/Tensor/IR/Tensor.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/Matchers.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>)
  foreach(library ${ARGN})
    target_precompile_headers(${library} REUSE_FROM ${OWNER})
  endforeach()
endfunction()
