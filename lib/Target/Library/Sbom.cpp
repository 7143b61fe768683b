//===- Sbom.cpp - a library's bill of materials ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bill of materials in CycloneDX 1.6 (ECMA-424), without time and serial number: the same input
// gives the same bytes.
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/Library.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"

#include "dlpack.h"

using namespace mlir;
using namespace mlir::attn;
namespace json = llvm::json;

static json::Object makeComponent(StringRef type, StringRef name, const Twine &version,
                                  const Twine &purl, StringRef description) {
  json::Object component{{"type", type},
                         {"bom-ref", name},
                         {"name", name},
                         {"version", version.str()},
                         {"description", description}};
  if (std::string url = purl.str(); !url.empty())
    component["purl"] = url;
  return component;
}

static json::Object withLicense(json::Object component, StringRef expression) {
  component["licenses"] = json::Array{json::Object{{"expression", expression}}};
  return component;
}

/// The tools that made the library, which are not in it.
static json::Array listTools() {
  return json::Array{
      withLicense(makeComponent("application", "attnc", ATTNC_VERSION, "", "the compiler"),
                  "Apache-2.0 WITH LLVM-exception"),
      withLicense(makeComponent("library", "LLVM, MLIR and lld", LLVM_VERSION_STRING,
                                "pkg:github/llvm/llvm-project@llvmorg-" LLVM_VERSION_STRING,
                                "compiles and links"),
                  "Apache-2.0 WITH LLVM-exception"),
      withLicense(makeComponent("library", "Halide", ATTNC_HALIDE_VERSION,
                                "pkg:pypi/halide@" ATTNC_HALIDE_VERSION, "compiles kernels"),
                  "MIT")};
}

static json::Array listParts(const Library &library, bool withRuntime) {
  std::string dlpack = llvm::formatv("{0}.{1}", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  json::Array parts{
      withLicense(makeComponent("library", "attnc-support", ATTNC_VERSION, "",
                                "attnc's support code, and kernels that it compiled from the spec"),
                  "Apache-2.0 WITH LLVM-exception"),
      withLicense(makeComponent("library", "dlpack", dlpack, "pkg:github/dmlc/dlpack@v" + dlpack,
                                "dlpack.h, beside the header"),
                  "Apache-2.0")};
  if (withRuntime)
    parts.push_back(withLicense(makeComponent("library", "halide-runtime", ATTNC_HALIDE_VERSION,
                                              "pkg:github/halide/Halide@v" ATTNC_HALIDE_VERSION,
                                              "Halide's runtime, compiled"),
                                "MIT"));
  if (!library.weights.isEmpty())
    parts.push_back(json::Object{
        {"type", "data"},
        {"bom-ref", "weights"},
        {"name", getWeightsFileName(library.name)},
        {"description", "constants of the spec, beside the library"},
        {"hashes",
         json::Array{json::Object{{"alg", "SHA-256"}, {"content", library.weights.sha256()}}}}});
  return parts;
}

/// The library itself, and its origin by its metadata.
static json::Object describeLibrary(const Library &library) {
  json::Array properties;
  auto metadata = json::parse(library.metadata);
  for (StringRef key : {"spec_hash", "target"})
    if (auto text = metadata ? metadata->getAsObject()->getString(key) : std::nullopt)
      properties.push_back(json::Object{{"name", ("attnc:" + key).str()}, {"value", text->str()}});
  if (!metadata)
    llvm::consumeError(metadata.takeError());
  return json::Object{{"type", "library"},
                      {"bom-ref", "lib" + library.name},
                      {"name", library.name},
                      {"properties", std::move(properties)}};
}

std::string attn::emitSbom(const Library &library, bool withRuntime) {
  json::Array parts = listParts(library, withRuntime), references;
  for (const json::Value &part : parts)
    references.push_back(part.getAsObject()->getString("bom-ref")->str());
  json::Object dependencies{{"ref", "lib" + library.name}, {"dependsOn", std::move(references)}};
  json::Object metadata{{"component", describeLibrary(library)},
                        {"tools", json::Object{{"components", listTools()}}}};
  json::Value document =
      json::Object{{"$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"},
                   {"bomFormat", "CycloneDX"},
                   {"specVersion", "1.6"},
                   {"version", 1},
                   {"metadata", std::move(metadata)},
                   {"components", std::move(parts)},
                   {"dependencies", json::Array{std::move(dependencies)}}};
  return llvm::formatv("{0:2}\n", document);
}
