//===- Library.cpp - a scheduled spec into a library
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results are cached by content hash: the object of the whole library, so that compiling an
// unchanged spec costs no more than hashing it, and below that one object for each kernel and one
// runtime for each target, which other specs share.
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/Library.h"

#include "HostObject.h"
#include "Link.h"
#include "Processes.h"
#include "Signature.h"
#include "Variants.h"
#include "Weights.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Dialect/Halide/Halide.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Files/WholeFile.h"
#include "attnc/Machine/Target.h"
#include "attnc/Target/CodeGen/CodeGen.h"
#include "attnc/Target/Halide/Export.h"
#include "attnc/Target/Library/Cache.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

namespace {

/// Files by content hash, in the user's folder, or for this build alone without one.
class Cache {
public:
  Cache(StringRef folder, TemporaryFolder &temporary, MLIRContext *context)
      : folder(folder), temporary(temporary), context(context) {}

  /// The path of the file for `key`; `make` makes it if it is missing or damaged. An unwritable
  /// cache is no reason to fail.
  FailureOr<std::string> get(StringRef key, llvm::function_ref<LogicalResult(StringRef)> make);

  /// The path of the file for `key`, and whether it is there.
  std::pair<std::string, bool> find(StringRef key);
  void keep(StringRef key, StringRef path);

private:
  bool restore(StringRef key, StringRef path);

  std::string folder;
  TemporaryFolder &temporary;
  MLIRContext *context;
};

} // namespace

FailureOr<std::string> Cache::get(StringRef key,
                                  llvm::function_ref<LogicalResult(StringRef)> make) {
  auto [path, isThere] = find(key);
  if (isThere)
    return path;
  if (failed(make(path)))
    return failure();
  keep(key, path);
  return path;
}

std::pair<std::string, bool> Cache::find(StringRef key) {
  // Link the copy that was checked.
  std::string path = temporary.file((key + ".o").str());
  return {path, llvm::sys::fs::exists(path) || restore(key, path)};
}

bool Cache::restore(StringRef key, StringRef path) {
  std::string entry = getCacheEntryPath(folder, key);
  if (folder.empty() || !llvm::sys::fs::exists(entry))
    return false;
  llvm::Expected<std::string> bytes = readCacheEntry(entry);
  if (bytes)
    return !writeWholeFile(path, [&](raw_ostream &os) { os << *bytes; });
  emitRemark(FileLineColLoc::get(context, entry, 0, 0))
      << "damaged, and made anew: " << llvm::toString(bytes.takeError());
  return false;
}

void Cache::keep(StringRef key, StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  if (!folder.empty() && file)
    (void)writeCacheEntry(folder, key, (*file)->getBuffer());
}

//===----------------------------------------------------------------------===//
// The function's own
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> findHost(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto host = module.lookupSymbol<func::FuncOp>(name);
    if (!host || !host::isHostFunction(host))
      return emitError(module.getLoc()) << "expected a host function @" << name << ", found none";
    return host;
  }
  SmallVector<func::FuncOp> hosts;
  for (auto function : module.getOps<func::FuncOp>())
    if (host::isHostFunction(function) && function.isPublic())
      hosts.push_back(function);
  if (hosts.size() == 1)
    return hosts.front();
  auto error = emitError(module.getLoc(), "expected one host function, or the name of one, found ");
  if (hosts.empty())
    return error << "none";
  llvm::interleaveComma(hosts, error,
                        [&](func::FuncOp host) { error << "@" << host.getSymName(); });
  return error;
}

/// The hash of a module. Constants are hashed as bytes: printing them is slow.
static std::string hashModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeElementsAttrs(0).elideLargeResourceString(0));
  std::vector<StringRef> parts{text};
  for (auto global : module.getOps<memref::GlobalOp>())
    parts.push_back(llvm::toStringRef(getConstantBytes(global.getInitialValueAttr())));
  return getCacheKey(parts);
}

//===----------------------------------------------------------------------===//
// The build
//===----------------------------------------------------------------------===//

namespace {

/// One call of buildLibrary.
struct Build {
  std::vector<Variant> variants;
  Signature signature;
  std::string function, metadata;
  Runtime runtime;
  uint64_t constantBytes;
  TemporaryFolder &folder;
  Cache cache;

  LogicalResult compileMissing(ArrayRef<KernelJob> missing);
  LogicalResult compileKernels(std::vector<std::string> &objects);
  LogicalResult compileAndLink(StringRef path);
  Location getLoc() { return variants.front().getModule().getLoc(); }
};

} // namespace

/// The format in which kernels and Halide's runtime are linked.
static Artefact getKernelArtefact(StringRef target) {
  return Target(target).isWasm() ? Artefact::bitcode : Artefact::object;
}

static std::string getKernelKey(KernelOpInterface kernel, StringRef target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  return getCacheKey({"kernel", target, text});
}

/// Halide's part of the runtime, for any CPU of the architecture.
static FailureOr<std::string> compileHalideRuntime(StringRef target, Cache &cache, Location loc) {
  return cache.get(getCacheKey({"runtime", target}), [&](StringRef path) {
    return halide::exportRuntime(target, getKernelArtefact(target), path, loc);
  });
}

/// Kernels that failed in a child process are compiled again, for their diagnostics.
LogicalResult Build::compileMissing(ArrayRef<KernelJob> missing) {
  if (missing.size() > 1)
    compileInProcesses(missing);
  for (const KernelJob &job : missing) {
    bool isThere = llvm::sys::fs::exists(job.path);
    KernelOpInterface kernel = job.kernel;
    if (!isThere && failed(kernel.compile(job.target, {{job.artefact, job.path}})))
      return failure();
    cache.keep(job.key, job.path);
  }
  return success();
}

LogicalResult Build::compileKernels(std::vector<std::string> &objects) {
  std::vector<KernelJob> missing;
  for (const Variant &variant : variants)
    for (auto kernel : variant.getModule().getOps<KernelOpInterface>()) {
      std::string key = getKernelKey(kernel, variant.target);
      auto [path, isThere] = cache.find(key);
      if (!isThere)
        missing.push_back({kernel, variant.target, getKernelArtefact(variant.target), key, path});
      objects.push_back(path);
    }
  return compileMissing(missing);
}

LogicalResult Build::compileAndLink(StringRef path) {
  FailureOr<std::string> triple = getTriple(variants.front().target, getLoc());
  if (failed(triple))
    return failure();
  std::vector<std::string> objects;
  if (failed(compileKernels(objects)))
    return failure();
  if (runtime == Runtime::inside) {
    // One runtime for all variants: the best one has the GPU if any has.
    FailureOr<std::string> object = compileHalideRuntime(variants.front().target, cache, getLoc());
    if (failed(object))
      return failure();
    objects.push_back(*object);
  }
  // WebAssembly is linked as LLVM's modules: neither lld nor objcopy hide symbols in its objects.
  bool isWhole = Target(variants.front().target).isWasm();
  FailureOr<std::string> bytes = compileHost(
      variants, function, signature, metadata, *triple, getGpu(variants),
      runtime == Runtime::inside, constantBytes, isWhole ? objects : std::vector<std::string>());
  if (failed(bytes) || isWhole)
    return failed(bytes) ? failure() : writeFile(path, *bytes, getLoc());
  // The host object's halide_error comes before the runtime's weak one.
  std::string host = folder.file("host.o");
  objects.insert(objects.begin(), host);
  if (failed(writeFile(host, *bytes, getLoc())))
    return failure();
  FailureOr<std::string> linked =
      linkObjects(objects, signature.symbols(), runtime, folder, getLoc());
  if (failed(linked))
    return failure();
  return writeFile(path, *linked, getLoc());
}

/// Kernels and public functions share one object until symbols are made local.
/// Whether host functions exchange data with other processes.
static bool isSpread(ModuleOp module) {
  auto exchanges = [](Operation *op) {
    return isa<host::RankOp, host::PlacesOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return module.walk(exchanges).wasInterrupted();
}

/// Whether kernels of any variant call attnc_multiply_tiles.
static bool usesTiles(ArrayRef<Variant> variants) {
  return llvm::any_of(variants, [](const Variant &variant) {
    auto walked =
        variant.getModule().walk([](halide::DotBF16TilesOp) { return WalkResult::interrupt(); });
    return walked.wasInterrupted();
  });
}

static LogicalResult verifyNames(ArrayRef<Variant> variants, const Signature &signature) {
  std::vector<std::string> symbols = signature.symbols();
  for (const Variant &variant : variants)
    for (auto kernel : variant.getModule().getOps<KernelOpInterface>())
      if (llvm::is_contained(symbols, kernel.getName()))
        return kernel.emitOpError("expected a name that the library ")
               << signature.name << " does not export, found " << kernel.getName();
  return success();
}

/// Hashes all inputs of the object.
static std::string hashBuild(const Build &build) {
  std::vector<std::string> parts{"library", build.signature.name, build.function};
  parts.push_back(build.runtime == Runtime::inside ? "inside" : "outside");
  parts.push_back(build.signature.isProfiled ? "profiled" : "");
  parts.push_back(build.metadata);
  for (const Variant &variant : build.variants) {
    parts.push_back(variant.target);
    parts.push_back(hashModule(variant.getModule()));
  }
  return getCacheKey(std::vector<StringRef>(parts.begin(), parts.end()));
}

/// A separate runtime is for CPUs only, and not as bitcode.
static LogicalResult verifyWithoutRuntime(ArrayRef<Variant> variants, Location loc) {
  StringRef expected = Target(variants.front().target).isWasm() ? "a target other than wasm"
                       : getGpu(variants)                       ? "targets without a GPU"
                                                                : "";
  if (expected.empty())
    return success();
  return emitError(loc) << "expected " << expected << " for a library without a runtime, found "
                        << joinTargets(variants);
}

FailureOr<Library> attn::buildLibrary(ArrayRef<LibrarySource> sources,
                                      const LibraryOptions &options) {
  ModuleOp first = sources.front().module;
  Location loc = first.getLoc();
  FailureOr<func::FuncOp> host = findHost(first, options.function);
  if (failed(host))
    return failure();
  StringRef name = options.name.empty() ? host->getSymName() : StringRef(options.name);
  FailureOr<Signature> signature = readSignature(*host, name);
  std::unique_ptr<TemporaryFolder> folder = createTemporaryFolder(loc);
  FailureOr<std::vector<Variant>> variants = makeVariants(sources, host->getSymName());
  if (failed(signature) || !folder || failed(variants) ||
      (!options.withRuntime && failed(verifyWithoutRuntime(*variants, loc))))
    return failure();
  FailureOr<WeightsFile> weights = WeightsFile();
  Constants constants;
  if (options.weightsBeside) {
    if (failed(weights = takeWeights(*variants, host->getSymName())))
      return failure();
    signature->weights = weights->info;
  } else if (!Target(variants->front().target).isWasm()) {
    constants = takeConstants(*variants, host->getSymName());
  }
  signature->onDevice = getGpu(*variants).has_value();
  signature->isSpread = isSpread(variants->front().getModule());
  signature->usesTiles = usesTiles(*variants);
  signature->isProfiled = options.isProfiled;
  if (failed(verifyNames(*variants, *signature)))
    return failure();

  std::string metadata = emitMetadata(*signature, *variants, options);
  std::string header = emitHeader(*signature, joinTargets(*variants), options);
  Build build{std::move(*variants),
              *signature,
              host->getSymName().str(),
              metadata,
              options.withRuntime ? Runtime::inside : Runtime::outside,
              constants.bytes,
              *folder,
              Cache(options.cacheDir, *folder, loc.getContext())};
  FailureOr<std::string> path =
      build.cache.get(hashBuild(build), [&](StringRef path) { return build.compileAndLink(path); });
  if (failed(path))
    return failure();
  FailureOr<std::string> object = readFile(*path, loc);
  if (failed(object))
    return failure();
  FailureOr<FileContent> content = fillConstants(std::move(*object), constants, loc);
  if (failed(content))
    return failure();
  return Library{signature->name,
                 std::move(*content),
                 header,
                 getHeadersBeside(*signature),
                 std::move(weights->content),
                 metadata};
}

//===----------------------------------------------------------------------===//
// The runtime alone
//===----------------------------------------------------------------------===//

static LogicalResult linkRuntime(StringRef target, Cache &cache, TemporaryFolder &folder,
                                 StringRef path, Location loc) {
  if (Target(target).isWasm())
    return emitError(loc, "expected a target other than wasm for a separate runtime, found ")
           << target;
  FailureOr<std::string> triple = getTriple(target, loc);
  if (failed(triple))
    return failure();
  FailureOr<std::string> halide = compileHalideRuntime(target, cache, loc);
  FailureOr<std::string> own = compileRuntimeSupport(*triple, loc);
  std::string support = folder.file("support.o");
  if (failed(halide) || failed(own) || failed(writeFile(support, *own, loc)))
    return failure();
  FailureOr<std::string> linked =
      linkObjects({support, *halide}, /*symbols=*/{}, Runtime::alone, folder, loc);
  return failed(linked) ? failure() : writeFile(path, *linked, loc);
}

FailureOr<Library> attn::buildRuntime(StringRef target, StringRef cacheDir, Location loc) {
  std::unique_ptr<TemporaryFolder> folder = createTemporaryFolder(loc);
  if (!folder)
    return failure();
  // Without CPU-specific features.
  std::string machine = Target(target).getMachine();
  Cache cache(cacheDir, *folder, loc.getContext());
  FailureOr<std::string> path =
      cache.get(getCacheKey({"shared runtime", machine}),
                [&](StringRef path) { return linkRuntime(machine, cache, *folder, path, loc); });
  if (failed(path))
    return failure();
  FailureOr<std::string> object = readFile(*path, loc);
  if (failed(object))
    return failure();
  return Library{getRuntimeName().str(), FileContent{std::move(*object)},
                 /*header=*/"",
                 /*headersBeside=*/{},   /*weights=*/{},
                 /*metadata=*/""};
}
