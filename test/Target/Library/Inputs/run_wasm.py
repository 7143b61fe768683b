"""Runs the program of a WebAssembly file, which may print, and ends as it does."""

import sys

import wasmtime

engine = wasmtime.Engine()
linker = wasmtime.Linker(engine)
linker.define_wasi()
system = wasmtime.WasiConfig()
system.inherit_stdout()
system.inherit_stderr()
store = wasmtime.Store(engine)
store.set_wasi(system)
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
