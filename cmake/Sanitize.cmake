# Our own code with ASan, UBSan, libstdc++'s and our own assertions, and what libFuzzer asks for.
# libMLIR, libLLVM and libHalide stay as they are: no check may need both sides. Vptr would look
# for the type information of their hidden classes.
add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=vptr
  -fno-sanitize-recover=undefined -fno-omit-frame-pointer -gline-tables-only)
add_link_options(-fsanitize=address,undefined)
add_compile_definitions(_GLIBCXX_ASSERTIONS)

# Most of the time goes into MLIR's headers: the sanitized libraries share them, compiled once.
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
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

# Gives a program its sanitizers' options.
function(attnc_sanitize PROGRAM)
  target_sources(${PROGRAM} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.c)
endfunction()
