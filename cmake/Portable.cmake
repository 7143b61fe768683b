# Programs for systems that have glibc and libstdc++ alone: the objects of the tools, linked with
# archives of LLVM, MLIR and protobuf in the place of Debian's shared libraries.

# Adds NAME, which stands for a shared library or, in programs with the property ATTNC_PORTABLE, for
# archives. Of those only what is used gets in.
function(attnc_add_either NAME SHARED)
  add_library(${NAME}Archives INTERFACE)
  target_link_libraries(${NAME}Archives INTERFACE ${ARGN})
  add_library(${NAME} INTERFACE)
  target_link_libraries(${NAME} INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:ATTNC_PORTABLE>>,${NAME}Archives,${SHARED}>")
endfunction()

find_library(Zlib_ARCHIVE libz.a REQUIRED)
find_library(Zstd_ARCHIVE libzstd.a REQUIRED)
file(GLOB archives ${LLVM_LIBRARY_DIR}/libLLVM*.a)
attnc_add_either(AttncLLVM LLVM ${archives} ${Zlib_ARCHIVE} ${Zstd_ARCHIVE})
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
attnc_add_either(AttncMLIR MLIR ${archives})
target_link_libraries(AttncMLIR INTERFACE AttncLLVM)

add_custom_target(portable)

# Adds NAME: TOOL once more, portable, which looks for libraries in RUN_PATH.
function(attnc_add_portable TOOL NAME RUN_PATH)
  add_executable(${NAME} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${TOOL}> ${PROJECT_SOURCE_DIR}/cmake/arc4random.c)
  get_target_property(libraries ${TOOL} LINK_LIBRARIES)
  target_link_libraries(${NAME} PRIVATE ${libraries})
  # lld takes archives in any order. What they define stays inside: libHalide has its own LLVM.
  target_link_options(${NAME} PRIVATE -fuse-ld=lld
    -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed -Wl,--strip-all)
  set_target_properties(${NAME} PROPERTIES ATTNC_PORTABLE ON INSTALL_RPATH "${RUN_PATH}"
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable/${NAME} OUTPUT_NAME ${TOOL})
  add_dependencies(portable ${NAME})
endfunction()
