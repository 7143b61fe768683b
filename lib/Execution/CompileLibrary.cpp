//===- CompileLibrary.cpp - compile a spec to a library -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/CompileLibrary.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Interfaces/KernelOpInterface.h"

#include <dlfcn.h>

using namespace mlir;
using namespace attnc;

FailureOr<std::string> attnc::getLibraryName(std::optional<StringRef> given, StringRef function) {
  if (!given) {
    if (mlir::attn::isCIdentifier(function))
      return function.str();
    return reportError("--name", "expected a name: the function's, '" + function +
                                     "', is not a C identifier");
  }
  if (!mlir::attn::isCIdentifier(*given))
    return reportUsage("--name", "expected a C identifier, found '" + *given + "'");
  return given->str();
}

LogicalResult attnc::checkSymbolIsFree(StringRef name) {
  // Looks in the math library and its dependencies, which is all of the C library.
  void *library = ::dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD);
  bool isTaken = name == "main" || (library && ::dlsym(library, name.str().c_str()));
  if (library)
    ::dlclose(library);
  if (isTaken)
    return reportError("--name",
                       "expected a name other than main and the C library's, found '" + name + "'");
  constexpr std::pair<StringLiteral, StringLiteral> owners[] = {{"halide_", "Halide's runtime"},
                                                                {"attnc_", "attnc's own code"}};
  for (auto [prefix, owner] : owners)
    if (name.starts_with(prefix))
      return reportError("--name", "expected a name that does not begin with " + prefix +
                                       ", as those of " + owner + " do, found '" + name + "'");
  bool isInteger = name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint")),
       isOfHeaders =
           llvm::is_contained({"dlpack", "stddef", "stdint", "size_t", "ptrdiff_t"}, name);
  if (isInteger || isOfHeaders || name.starts_with("DL") || name.starts_with("kDL"))
    return reportError("--name", "expected a name other than dlpack, stddef, stdint and what these "
                                 "headers declare, found '" +
                                     name + "'");
  return success();
}

FailureOr<mlir::attn::Library> attnc::compileLibrary(ArrayRef<mlir::attn::LibrarySource> sources,
                                                     const mlir::attn::LibraryOptions &options) {
  size_t count = 0;
  for (mlir::attn::LibrarySource source : sources)
    count += llvm::range_size(source.module.getOps<mlir::attn::KernelOpInterface>());
  Progress progress("compiling " + options.name + ": " + Twine(count) +
                    (count == 1 ? " kernel" : " kernels"));
  return mlir::attn::buildLibrary(sources, options);
}
