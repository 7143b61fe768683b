# Our own code with ASan, UBSan, assertions of libstdc++ and our own, and libFuzzer's coverage.
# libMLIR, libLLVM and libHalide stay as they are: no check may need both sides. Vptr checks would
# need type information of their hidden classes.
add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=vptr
  -fno-sanitize-recover=undefined -fno-omit-frame-pointer -gline-tables-only)
add_link_options(-fsanitize=address,undefined)
add_compile_definitions(_GLIBCXX_ASSERTIONS)

# Gives a program its sanitizers' options.
function(attnc_sanitize PROGRAM)
  target_sources(${PROGRAM} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.c)
endfunction()
