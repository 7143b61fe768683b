"""Libraries as Python calls them: from memory that is guarded, or laid out in other ways, none of which
may change a bit of their results."""

import contextlib
import ctypes
import dataclasses
import json
import mmap
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bench"))
import dlpack  # noqa: E402

# bf16 and f8e4m3fn are held as bits.
TYPES = {"f8e4m3fn": np.uint8, "f16": np.float16, "bf16": np.int16, "f32": np.float32, "f64": np.float64, "bool": np.bool_,
         "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
BF16 = dlpack.Type(4, 16, 1)
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Labelled:
    """A case, as a dataclass, that is called by what differs from its defaults."""

    def label(self):
        return " ".join(f"{f.name}={getattr(self, f.name)}" for f in dataclasses.fields(self)
                        if getattr(self, f.name) != f.default)


def guard(array, at_end):
    """A copy whose last byte, or whose first, lies beside a page that is not accessible; the other
    end lies less than a page from one. It is never freed: a child process ends soon."""
    inside = -(-array.nbytes // PAGE) * PAGE
    start = libc.mmap(None, inside + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE,
                      mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    first = start + PAGE
    for page in (start, first + inside):
        assert libc.mprotect(page, PAGE, 0) == 0
    place = first + (inside - array.nbytes if at_end else 0)
    copy = np.ndarray(array.shape, array.dtype, (ctypes.c_char * array.nbytes).from_address(place))
    copy[...] = array
    return copy


class Options(ctypes.Structure):
    """NAME_options."""

    _fields_ = [("size", ctypes.c_size_t), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("threads", ctypes.c_int),
                *((name, ctypes.c_void_p) for name in ("parallel", "pool", "allocate", "deallocate", "allocator"))]


class Allocator:
    """Memory of the caller's, of which there is no more after so many requests."""

    def __init__(self, granted):
        self.granted, self.requests, self.live = granted, 0, 0
        self.allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(self._allocate)
        self.deallocate = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._deallocate)

    def _allocate(self, _, size):
        self.requests += 1
        if self.requests > self.granted:
            return None
        self.live += 1
        return libc.malloc(size)

    def _deallocate(self, _, memory):
        self.live -= 1
        libc.free(memory)


class Parameter:
    """An input or a result: its name, type and shape."""

    def __init__(self, described, sizes):
        self.name, self.dtype = described["name"], described["dtype"]
        self.shape = tuple(sizes.get(dim, dim) for dim in described["dims"])
        self.in_place = described.get("in_place")

    def view(self, array):
        tensor = dlpack.from_numpy(array)
        if self.dtype == "bf16":
            tensor.dtype = BF16
        return tensor

    def zeros(self):
        return np.zeros(self.shape, TYPES[self.dtype])

    def equal(self, one, other):
        """Whether they hold the same, NaN being NaN."""
        if self.dtype == "bf16":
            one, other = ((array.astype(np.int32) << 16).view(np.float32) for array in (one, other))
        return np.array_equal(one, other, equal_nan=self.dtype[0] != "i" and self.dtype != "bool")


def scatter(values, rng, can_share, can_flip):
    """A tensor of these values, whose rows are whole and which is otherwise laid out at random:
    padded, its dimensions in any order or backwards, at any address, and what repeats held once.
    Returns its memory, too."""
    rank = values.ndim
    shared = [can_share and 1 < values.shape[dim] and np.array_equal(values, np.roll(values, 1, dim))
              for dim in range(rank - 1)] + [False] * (rank > 0)
    held = values[(..., *(slice(1 if is_shared else None) for is_shared in shared))]
    order = [*rng.permutation(max(rank - 1, 0)), *range(max(rank - 1, 0), rank)]
    padded = [held.shape[dim] + (0 if shared[dim] else int(rng.integers(0, 3))) for dim in order]
    start = int(rng.integers(0, 16))
    memory = np.zeros(start + int(np.prod(padded)) + 16, values.dtype)
    view = memory[start:start + int(np.prod(padded))].reshape(padded)
    view = view[(..., *(slice(held.shape[dim]) for dim in order))].transpose(np.argsort(order))
    for dim in range(rank - 1):
        if can_flip and rng.random() < 0.1:
            view = np.flip(view, dim)
    view[...] = held
    return memory, np.broadcast_to(view, values.shape) if can_share else view


class Library:
    def __init__(self, path, sizes):
        with open(path) as file:
            described = json.load(file)
        self.name, target = described["name"], described["target"]
        self.on_cpu = not any(api in target for api in ("cuda", "opencl"))  # GPUs take no tensor backwards
        self.inputs = [Parameter(input, sizes) for input in described["inputs"]]
        self.outputs = [Parameter(output, sizes) for output in described["outputs"]]
        library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(path)), f"lib{self.name}.so"))
        self.function = getattr(library, self.name + "_call")
        self.workspace = getattr(library, self.name + "_workspace")
        self.workspace.restype = ctypes.c_int64
        self.error = getattr(library, self.name + "_last_error")
        self.error.restype = ctypes.c_char_p

    def pointers(self, arrays):
        tensors = [p.view(array) for p, array in zip(self.inputs + self.outputs, arrays)]
        pointers = (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))
        pointers.tensors = tensors
        return pointers

    def call(self, inputs, outputs, threads=0, workspace=None, allocator=None):
        """The status."""
        options = Options(size=ctypes.sizeof(Options), threads=threads)
        if allocator is not None:
            options.allocate = ctypes.cast(allocator.allocate, ctypes.c_void_p)
            options.deallocate = ctypes.cast(allocator.deallocate, ctypes.c_void_p)
        if workspace is not None:
            options.workspace, options.workspace_bytes = workspace.ctypes.data, workspace.size
        return self.function(ctypes.byref(options), self.pointers(inputs + outputs))

    def outputs_of(self, inputs, threads=0):
        outputs = [parameter.zeros() for parameter in self.outputs]
        if self.call(inputs, outputs, threads) != 0:
            sys.exit(self.error().decode())
        return outputs


@contextlib.contextmanager
def compiled(name, spec, target):
    """The library of the text of a spec with a function of that name."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, name + ".mlir")
        with open(path, "w") as file:
            file.write(spec)
        subprocess.run(["attnc", "compile", path, "-o", scratch, "--shared", "--target", target],
                       check=True, stdout=subprocess.DEVNULL)
        yield Library(os.path.join(scratch, name + ".json"), {})


def is_good(call, label):
    """Whether `call` ends a child process with 0: an access outside a tensor ends no more than that."""
    child = os.fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if status != 0:
        outcome = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "wrong"
        print(f"{label}: {outcome}", flush=True)
    return status == 0


def is_refused(library, status, refusal):
    """Whether a call ended with an error that has the text `refusal`, which is not empty."""
    message = library.error().decode()
    refused = bool(status != 0 and refusal and refusal in message)
    if not refused:
        print(f"expected {refusal!r}, found {status}: {message}", flush=True)
    return refused


def report(good):
    """Ends the process with what came of all calls."""
    print(f"{sum(good)} of {len(good)} calls right")
    sys.exit(not all(good))


def compare(library, what, outputs, expected):
    for parameter, one, other in zip(library.outputs, outputs, expected):
        if not parameter.equal(one, other):
            sys.exit(f"WRONG {what}: {parameter.name} differs")


def call_strided(library, inputs, rng):
    views = [scatter(input, rng, True, library.on_cpu)[1] for input in inputs]
    pairs = [scatter(parameter.zeros(), rng, False, library.on_cpu) for parameter in library.outputs]
    before = [memory.copy() for memory, _ in pairs]
    if library.call(views, [view for _, view in pairs], threads=2) != 0:
        sys.exit(f"WRONG strided: {library.error().decode()}")
    results = [view.copy() for _, view in pairs]
    for parameter, (memory, view), zeros in zip(library.outputs, pairs, before):
        view[...] = 0
        if not np.array_equal(memory, zeros):
            sys.exit(f"WRONG strided: wrote around {parameter.name}")
    return results


def call_in_place(library, inputs):
    copies = [input.copy() for input in inputs]
    outputs = [parameter.zeros() if parameter.in_place is None else copies[parameter.in_place]
               for parameter in library.outputs]
    if library.call(copies, outputs) != 0:
        sys.exit(f"WRONG in place: {library.error().decode()}")
    return outputs


def call_with_workspace(library, inputs):
    outputs = [parameter.zeros() for parameter in library.outputs]
    memory = np.full(library.workspace(library.pointers(inputs + outputs)) + 65, 255, np.uint8)
    if library.call(inputs, outputs, 1, memory[1:-64]) != 0:
        sys.exit(f"WRONG workspace: {library.error().decode()}")
    if not (memory[-64:] == 255).all():
        sys.exit("WRONG workspace: wrote behind it")
    return outputs


def call_without_memory(library, inputs, expected):
    """Fails each request for memory in turn, with all behind it. A kernel may have a way round."""
    no_memory, granted = -2, 0
    while True:
        allocator, outputs = Allocator(granted), [parameter.zeros() for parameter in library.outputs]
        status = library.call(inputs, outputs, threads=1, allocator=allocator)
        what = f"memory for {granted} requests"
        if allocator.live:
            sys.exit(f"WRONG {what}: {allocator.live} blocks are not given back")
        if status == 0:
            compare(library, what, outputs, expected)
        elif status != no_memory or not library.error():
            sys.exit(f"WRONG {what}: status {status}, {library.error().decode()}")
        if allocator.requests <= granted:
            return
        granted += 1 + granted // 8


def refuse(library, inputs):
    caches = [parameter for parameter in library.outputs if parameter.in_place is not None]
    if not any(cache.zeros().size for cache in caches):
        return  # nothing may read the lengths
    for at, parameter in enumerate(library.inputs):
        if parameter.name.startswith("past") and inputs[at].size:
            changed = [*inputs[:at], np.full_like(inputs[at], -1), *inputs[at + 1:]]
            if library.call(changed, [parameter.zeros() for parameter in library.outputs]) == 0:
                sys.exit(f"WRONG refusal: {parameter.name} of -1 is taken")


def call_with_wrong_sizes(library, inputs, zeros):
    """Changes one size of one tensor at a time; `zeros` are the results. A result's must be refused; an
    argument's may be the only one that says how large something is that no result depends on."""
    parameters, tensors = library.inputs + library.outputs, [*inputs, *zeros]
    for at, dim in ((at, dim) for at, tensor in enumerate(tensors) for dim in range(tensor.ndim)):
        for change in (-1, 1):
            shape = [*tensors[at].shape]
            shape[dim] += change
            if shape[dim] < 0:
                continue
            called = [*inputs, *(guard(output, at_end=True) for output in zeros)]
            called[at] = guard(np.resize(tensors[at], shape), at_end=True)
            status = library.call(called[:len(inputs)], called[len(inputs):])
            what = f"WRONG sizes: {parameters[at].name} of {shape}"
            if status == 0 and at >= len(inputs):
                sys.exit(f"{what} is taken")
            if status != 0 and (not library.error() or any(output.any() for output in called[len(inputs):])):
                sys.exit(f"{what}: no message, or results that are written")


def vary(library, inputs, expected, rng):
    """Ends the process where a call of another kind gives other bits. Lengths of caches (`past…`)
    that are negative must be refused."""
    compare(library, "again", library.outputs_of(inputs, threads=1), expected)
    compare(library, "strided", call_strided(library, inputs, rng), expected)
    compare(library, "in place", call_in_place(library, inputs), expected)
    compare(library, "workspace", call_with_workspace(library, inputs), expected)
    call_without_memory(library, inputs, expected)
    call_with_wrong_sizes(library, inputs, [parameter.zeros() for parameter in library.outputs])
    refuse(library, inputs)
