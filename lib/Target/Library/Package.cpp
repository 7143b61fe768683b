//===- Package.cpp - files for build systems, and licences ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that find the library in their own folder, wherever that is moved.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "Template.h"

#include "attnc/Target/Library/Library.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr char licenses[] = {
#include "licenses.txt.inc"
};
static constexpr char ownLicense[] = {
#include "LICENSE.inc"
};

std::string attn::getLicenses() {
  return std::string(licenses, sizeof licenses) + std::string(ownLicense, sizeof ownLicense);
}

//===----------------------------------------------------------------------===//
// CMake
//===----------------------------------------------------------------------===//

static constexpr StringLiteral configText =
    R"(# find_package(@NAME@): the imported target @NAME@::@NAME@.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
@NEEDS@include("${CMAKE_CURRENT_LIST_DIR}/@NAME@-targets.cmake")
)";

static constexpr StringLiteral versionText = R"(set(PACKAGE_VERSION @ABI@)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(NOT PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
)";

static constexpr StringLiteral targetText = R"(if(NOT TARGET @TARGET@)
  add_library(@TARGET@ @TYPE@ IMPORTED)
  set_target_properties(@TARGET@ PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/@FILE@"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES "@NEEDS@Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
)";

std::map<std::string, std::string> attn::emitCMakePackage(StringRef name,
                                                          const PackageOptions &options) {
  std::string runtime = getRuntimeName().str();
  auto target = [&](StringRef type, StringRef suffix, StringRef file) {
    return fillTemplate(targetText,
                        {{"TARGET", (name + "::" + name + suffix).str()},
                         {"TYPE", type.str()},
                         {"NEEDS", options.needsRuntime ? runtime + "::" + runtime + ";" : ""},
                         {"FILE", file.str()}});
  };
  std::string targets;
  if (options.isStatic)
    targets += target("STATIC", "", ("lib" + name + ".a").str());
  if (options.isShared)
    targets += target("SHARED", options.isStatic ? "_shared" : "", getSharedFileName(name));
  std::string stem = name.str(), abi = std::to_string(abiVersion);
  // Usually in the same folder, which find_package need not search.
  std::string needs = options.needsRuntime ? "find_dependency(" + runtime +
                                                 " CONFIG HINTS \"${CMAKE_CURRENT_LIST_DIR}\")\n"
                                           : "";
  return {{stem + "-config.cmake", fillTemplate(configText, {{"NAME", stem}, {"NEEDS", needs}})},
          {stem + "-config-version.cmake", fillTemplate(versionText, {{"ABI", abi}})},
          {stem + "-targets.cmake", targets}};
}

//===----------------------------------------------------------------------===//
// pkg-config
//===----------------------------------------------------------------------===//

static constexpr StringLiteral pkgConfigText = R"(Name: @NAME@
Description: attention compiled by attnc @VERSION@
Version: @ABI@
@NEEDS@Cflags: -I${pcfiledir}
Libs: -L${pcfiledir} -l@NAME@@LIBS@
)";

std::string attn::emitPkgConfig(StringRef name, const PackageOptions &options) {
  // A shared library names its own dependencies.
  StringRef needed = "-lm -lpthread -ldl";
  std::string text = fillTemplate(
      pkgConfigText,
      {{"NAME", name.str()},
       {"VERSION", ATTNC_VERSION},
       {"ABI", std::to_string(abiVersion)},
       {"NEEDS", options.needsRuntime ? ("Requires: " + getRuntimeName() + "\n").str() : ""},
       {"LIBS", options.isShared ? "" : (" " + needed).str()}});
  if (options.isShared)
    text += ("Libs.private: " + needed + "\n").str();
  return text;
}
