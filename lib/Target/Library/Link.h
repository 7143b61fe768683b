//===- Link.h - objects into libraries --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_LINK_H
#define ATTNC_LIB_TARGET_LIBRARY_LINK_H

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// A folder that is removed, with what it holds, at the end of the scope.
class TemporaryFolder {
public:
  static FailureOr<TemporaryFolder> create(Location loc);
  TemporaryFolder(TemporaryFolder &&other) : path(std::move(other.path)) { other.path.clear(); }
  ~TemporaryFolder();

  /// The path of `name` within.
  std::string file(StringRef name) const;

private:
  explicit TemporaryFolder(StringRef path) : path(path) {}
  std::string path;
};

/// Where Halide's runtime is, seen from an object: within, in another library, or all there is.
enum class Runtime { inside, outside, alone };

/// Links the object files `paths` into one relocatable object, without what `symbols`
/// don't reach, in which these alone are global, and beside them the symbols of a runtime that
/// is shared.
FailureOr<std::string> linkObjects(ArrayRef<std::string> paths, ArrayRef<std::string> symbols,
                                   Runtime runtime, const TemporaryFolder &folder, Location loc);

/// Writes `bytes` to `path`, all or nothing.
LogicalResult writeFile(StringRef path, StringRef bytes, Location loc);

/// Reads a file.
FailureOr<std::string> readFile(StringRef path, Location loc);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_LINK_H
