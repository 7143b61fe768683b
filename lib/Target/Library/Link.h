//===- Link.h - objects into libraries --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_LINK_H
#define ATTNC_LIB_TARGET_LIBRARY_LINK_H

#include "Weights.h"

#include "attnc/Files/TemporaryFolder.h"

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// Null after an error.
std::unique_ptr<TemporaryFolder> createTemporaryFolder(Location loc);

/// Where an object's Halide runtime is: inside it, in another library, or the object is only that.
enum class Runtime { inside, outside, alone };

/// Links the object files `paths` into one relocatable object without code unreachable from
/// `symbols`. Only these stay global, and the symbols of a shared runtime.
FailureOr<std::string> linkObjects(ArrayRef<std::string> paths, ArrayRef<std::string> symbols,
                                   Runtime runtime, TemporaryFolder &folder, Location loc);

/// Fills constants into a relocatable object of linkObjects, whose kConstantsName is not stored.
FailureOr<FileContent> fillConstants(std::string object, const Constants &constants, Location loc);

/// Writes `bytes` to `path`, all or nothing.
LogicalResult writeFile(StringRef path, StringRef bytes, Location loc);

/// Reads a file.
FailureOr<std::string> readFile(StringRef path, Location loc);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_LINK_H
