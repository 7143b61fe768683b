//===- OwnFolder.cpp - folders only the user can write --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/OwnFolder.h"

#include "llvm/Support/Path.h"

#include <climits>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>
#include <vector>

using namespace mlir::attn;
using llvm::StringRef;
namespace path = llvm::sys::path;
using Reason = std::optional<std::string>;

/// Whether the group has the user as its only member, as on systems with a group per user.
static bool isPrivateGroup(gid_t id) {
  const struct passwd *user = ::getpwuid(::geteuid());
  const struct group *group = ::getgrgid(id);
  return user && group && user->pw_gid == id && StringRef(user->pw_name) == group->gr_name &&
         !*group->gr_mem;
}

static bool isOpenToOthers(const struct stat &status) {
  return (status.st_mode & S_IWOTH) ||
         ((status.st_mode & S_IWGRP) && !isPrivateGroup(status.st_gid));
}

static bool isOwnedByOther(const struct stat &status) {
  return status.st_uid != ::geteuid() && status.st_uid != 0;
}

static std::string describeOwner(const struct stat &status) {
  return "owned by uid " + std::to_string(status.st_uid);
}

Reason mlir::attn::findOtherWriter(const struct stat &status) {
  if (isOwnedByOther(status))
    return describeOwner(status);
  if (isOpenToOthers(status))
    return "writable by others";
  return std::nullopt;
}

namespace {
/// Follows a path from the root, link by link.
class Walk {
public:
  explicit Walk(StringRef path) { push(path); }

  Reason run() {
    while (!rest.empty())
      if (Reason reason = step())
        return reason;
    return std::nullopt;
  }

private:
  void push(StringRef path);
  Reason step();
  Reason follow(const std::string &link, const struct stat &status);
  Reason check(const struct stat &status);

  std::string at = "/";
  /// The remaining names, last first.
  std::vector<std::string> rest;
  int links = 0;
};
} // namespace

void Walk::push(StringRef path) {
  if (path.starts_with("/"))
    at = "/";
  std::vector<std::string> names;
  for (auto name = path::begin(path), end = path::end(path); name != end; ++name)
    if (*name != "/" && *name != ".")
      names.push_back(name->str());
  rest.insert(rest.end(), names.rbegin(), names.rend());
}

Reason Walk::step() {
  std::string name = rest.back();
  rest.pop_back();
  if (name == "..") {
    at = path::parent_path(at).str();
    return std::nullopt;
  }
  std::string next = at + (at == "/" ? "" : "/") + name;
  struct stat status;
  if (::lstat(next.c_str(), &status) != 0) {
    rest.clear(); // missing folders will be ours
    return std::nullopt;
  }
  if (S_ISLNK(status.st_mode))
    return follow(next, status);
  at = next;
  return check(status);
}

/// As root in a container, parent folders may belong to a user outside: their owner is not checked.
static bool isTrustedParent(const struct stat &status) {
  return ::geteuid() == 0 || !isOwnedByOther(status);
}

Reason Walk::follow(const std::string &link, const struct stat &status) {
  constexpr int kMaxLinks = 40; // Linux's
  char target[PATH_MAX];
  ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  if (!isTrustedParent(status))
    return "the link " + link + " " + describeOwner(status);
  if (size < 0 || ++links > kMaxLinks)
    return "too many links at " + link;
  push(StringRef(target, size));
  return std::nullopt;
}

Reason Walk::check(const struct stat &status) {
  bool isParent = !rest.empty();
  if (isParent ? !isTrustedParent(status) : isOwnedByOther(status))
    return at + " " + describeOwner(status);
  if (isOpenToOthers(status) && !(isParent && (status.st_mode & S_ISVTX)))
    return at + " writable by others: 'chmod go-w " + at + "' ends that";
  return std::nullopt;
}

Reason mlir::attn::findIntruder(StringRef path) { return Walk(path).run(); }
