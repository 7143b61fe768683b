"""lit configuration: every .mlir and .test file under test/ is a test."""

import glob
import os
import shutil

import lit.formats

config.name = "attnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".textproto"]
config.excludes = ["Inputs", "CMakeLists.txt", "fuzz"]
# `lit -D quick=1` leaves out the long numeric tests.
if lit_config.params.get("quick"):
    config.excludes.append("Integration")
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.obj_root

config.environment["PATH"] = os.pathsep.join(
    [config.attnc_tools, config.llvm_tools, config.environment["PATH"]]
)
# Each test run compiles afresh unless a test asks for a cache of its own.
config.environment["ATTNC_CACHE"] = os.path.join(config.obj_root, "cache")
# And with the built-in schedules.
config.environment["ATTNC_SCHEDULES"] = "none"

# Shares of long lists: test/Integration/sample.py.
for name in ("ATTNC_TEST_ALL", "ATTNC_TEST_SEED"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# What `host` stands for: `./dev test --cpu` sets it, and leaves out what would repeat the tests without it.
if "ATTNC_HOST_TARGET" in os.environ:
    config.environment["ATTNC_HOST_TARGET"] = os.environ["ATTNC_HOST_TARGET"]
    config.excludes += ["Conversion", "Dialect", "Import", "Reference", "Target", "bench", "errors", "tools"]

# OpenCL kernels run on the CPU, whatever else the machine has.
config.environment["HL_OCL_PLATFORM_NAME"] = "Portable Computing Language"
config.environment["POCL_CACHE_DIR"] = os.path.join(config.obj_root, "pocl")

# attn-opt is built alone where libHalide is missing.
if os.path.exists(os.path.join(config.attnc_tools, "attnc")):
    config.available_features.add("attnc")

# The Python package is installed there by `./dev test`.
if os.path.isdir(config.python_package):
    config.available_features.add("python-package")

# The target `portable`, which `./dev test` builds.
if os.path.exists(os.path.join(os.path.dirname(config.obj_root), "portable", "attnc-portable", "attnc")):
    config.available_features.add("portable")

# The targets of libFuzzer, which `./dev test` builds where the compiler is Clang.
if os.path.exists(os.path.join(config.attnc_tools, "call-fuzzer")):
    config.available_features.add("fuzzers")

# What ./dev installs, and other systems may lack.
for feature, program in (("qemu", "qemu-x86_64"), ("cross-arm", "aarch64-linux-gnu-gcc"),
                         ("oclgrind", "oclgrind"), ("mpi", "mpicc"), ("mpich", "mpicc.mpich")):
    if shutil.which(program):
        config.available_features.add(feature)

# A C library for WebAssembly, and an engine for Python.
wasm_engine = os.path.join(os.path.dirname(config.python), "..", "lib", "python3*", "site-packages", "wasmtime")
if os.path.isdir("/usr/include/wasm32-wasi") and glob.glob(wasm_engine):
    config.available_features.add("wasm")
config.substitutions.append(("%wasm-cc", f"{config.cc} --target=wasm32-wasi --sysroot=/usr -Wno-deprecated"))

# NVIDIA's tools, from their wheels.
for tool in ("ptxas", "nvdisasm"):
    wheel = os.path.join(os.path.dirname(config.python), "..", "lib", "python3*", "site-packages", "nvidia", "*", "bin", tool)
    config.substitutions.append((f"%{tool}", next(iter(glob.glob(wheel)), tool)))

# %exits CODE COMMAND...
config.substitutions.append(
    ("%exits", os.path.join(config.test_source_root, "exits"))
)
config.substitutions.append(("%python-package", config.python_package))
config.substitutions.append(("%python-tests", config.python_tests))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%tools", os.path.join(config.test_source_root, "..", "tools")))
config.substitutions.append(("%examples", config.examples))
config.substitutions.append(("%build", os.path.dirname(config.obj_root)))
# Text on standard input as an ONNX model; before %onnx, which it begins with.
config.substitutions.append((
    "%onnx-encode", f"protoc --encode=onnx.ModelProto -I {config.onnx} {config.onnx}/onnx-ml.proto"
))
config.substitutions.append(("%onnx", config.onnx))
config.substitutions.append(("%cc", config.cc))
