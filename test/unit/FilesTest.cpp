//===- FilesTest.cpp - files that others cannot change, and that are cleaned up
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/OwnFolder.h"
#include "attnc/Files/TemporaryFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace mlir::attn;
namespace fs = llvm::sys::fs;

namespace {

struct stat makeStatus(uid_t owner, mode_t mode) {
  struct stat status = {};
  status.st_uid = owner;
  status.st_gid = 54321;
  status.st_mode = mode;
  return status;
}

TEST(OwnFolder, OthersAreNamed) {
  uid_t user = ::geteuid(), stranger = user + 12345;
  EXPECT_EQ(findOtherWriter(makeStatus(user, 0644)), std::nullopt);
  EXPECT_EQ(findOtherWriter(makeStatus(0, 0755)), std::nullopt);
  EXPECT_EQ(findOtherWriter(makeStatus(user, 0664)), "writable by others");
  EXPECT_EQ(findOtherWriter(makeStatus(user, 0602)), "writable by others");
  EXPECT_EQ(findOtherWriter(makeStatus(stranger, 0644)),
            "owned by uid " + std::to_string(stranger));
}

/// A folder within a temporary one.
std::string makeFolder(TemporaryFolder &parent, llvm::StringRef name, mode_t mode) {
  std::string path = parent.file(name);
  EXPECT_FALSE(fs::create_directory(path));
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

TEST(OwnFolder, ParentsAndLinksCount) {
  auto parent = TemporaryFolder::create();
  ASSERT_TRUE(parent);
  std::string open = makeFolder(**parent, "open", 0777);
  std::string sticky = makeFolder(**parent, "sticky", 01777);
  std::string link = (*parent)->file("link");
  ASSERT_FALSE(fs::create_link("open", link));
  EXPECT_TRUE(findIntruder(open));
  EXPECT_TRUE(findIntruder(open + "/new"));
  EXPECT_TRUE(findIntruder(link + "/new"));
  EXPECT_TRUE(findIntruder(sticky + "/../link"));
  EXPECT_TRUE(findIntruder(sticky));
  EXPECT_FALSE(findIntruder(sticky + "/new"));
  ASSERT_FALSE(fs::create_link("circle", (*parent)->file("circle")));
  EXPECT_TRUE(findIntruder((*parent)->file("circle")));
}

TEST(TemporaryFolder, WhatNobodyHoldsIsRemoved) {
  auto parent = TemporaryFolder::create();
  ASSERT_TRUE(parent);
  std::string left = makeFolder(**parent, ".attnc-0123abcd", 0700) + "/";
  std::string other = makeFolder(**parent, ".attnc-of-mine", 0700);
  std::string folder = llvm::sys::path::parent_path(other).str();
  auto held = TemporaryFolder::create(folder);
  auto more = TemporaryFolder::create(folder);
  ASSERT_TRUE(held && more);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other));
  std::string file = (*held)->file("a"), hidden = llvm::sys::path::parent_path(file).str();
  EXPECT_TRUE(fs::exists(hidden));
  EXPECT_EQ(getFinalPath(file), folder + "/a");
  struct stat status;
  ASSERT_EQ(::stat(hidden.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  held->reset();
  EXPECT_FALSE(fs::exists(hidden));
}

} // namespace
