# The Halide of PyPI's wheel `halide`, as one imported target. (Its own package
# files ask for a newer CMake than Debian 12 ships.)
#
# HALIDE_ROOT: the wheel's package folder, the one that holds include/Halide.h.
find_path(Halide_INCLUDE_DIR Halide.h PATHS ${HALIDE_ROOT}/include NO_DEFAULT_PATH)
find_library(Halide_LIBRARY Halide PATHS ${HALIDE_ROOT}/lib64 ${HALIDE_ROOT}/lib NO_DEFAULT_PATH)
if(Halide_INCLUDE_DIR)
  file(STRINGS ${Halide_INCLUDE_DIR}/HalideRuntime.h halide_version
    REGEX "#define HALIDE_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" halide_version "${halide_version}")
  string(REPLACE ";" "." HalideWheel_VERSION "${halide_version}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HalideWheel
  REQUIRED_VARS Halide_LIBRARY Halide_INCLUDE_DIR VERSION_VAR HalideWheel_VERSION)
if(HalideWheel_FOUND AND NOT TARGET Halide::Halide)
  add_library(Halide::Halide SHARED IMPORTED)
  set_target_properties(Halide::Halide PROPERTIES
    IMPORTED_LOCATION ${Halide_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Halide_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS "HALIDE_WITH_EXCEPTIONS;HALIDE_ENABLE_RTTI")
endif()
