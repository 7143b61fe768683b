"""Sequences that several ranks share: a function under attn.shard, called by a thread for each rank, equals one
call with the whole sequence and attnc's reference, and gives the same bits in each run.

usage: spread.py [NAME...]   (names of CASES below, or `failures`; without one a share, or all with ATTNC_TEST_ALL)
       spread.py overlap      (measures how far computation hides a link as slow as itself)
"""

import ctypes
import dataclasses
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

import calls
import check
import numpy as np
from sample import sample

RANKS = (1, 2, 3, 4, 8)
EXAMPLES = os.path.dirname(os.path.abspath(check.__file__))


@dataclasses.dataclass
class Case:
    """A function of examples/variants, or of SPECS; the layouts of its sizes by name, with a strategy of the exchange
    if one is named; its sizes, and what is in its integer tensors. A decode step has rows of its own."""

    function: str
    shard: dict
    sizes: dict
    integers: dict = dataclasses.field(default_factory=dict)
    is_decode: bool = False


LENGTH = 113  # no number of ranks divides it
DOCUMENTS = np.repeat(np.arange(6), [50, 3, 11, 1, 40, 8])
# The masks of examples/variants whose softmax fuses; sigmoid's score can't be merged.
MASKS = {
    "bidirectional": {},
    "causal_padded": {"kv_len": [100, 90]},
    "prefix": {"prefix_len": [31, 64]},
    "documents": {"document": np.stack([DOCUMENTS, DOCUMENTS[::-1]])},
    "sliding_window": {},
    "t5": {},
    "sink": {},
    "differential": {},
}
LAYOUTS = ("zigzag", "blocks", "striped")


def list_cases():
    """All cases by name, in groups of which a run takes one each."""
    groups = []
    for mask, integers in MASKS.items():
        prefill = {f"{mask} {layout} {strategy}": Case(mask, {"len": (layout, strategy)}, {"len": LENGTH}, integers)
                   for strategy in ("ring", "all_gather") for layout in LAYOUTS}
        if mask == "sliding_window":
            prefill[f"{mask} blocks halo"] = Case(mask, {"len": ("blocks", "halo")}, {"len": LENGTH})
            prefill[f"{mask} blocks"] = Case(mask, {"len": "blocks"}, {"len": LENGTH})
        groups.append(prefill)
    # A row and its keys would read the same document ids, of which a rank has its keys' alone.
    for mask in MASKS.keys() - {"documents"}:
        groups.append({f"decode {mask} {layout}": Case(mask, {"len": layout}, {"q_len": 2, "len": LENGTH},
                                                       MASKS[mask], is_decode=True) for layout in LAYOUTS})
    both, rows = {"q_len": 41, "kv_len": LENGTH}, {"q_len": 2, "kv_len": LENGTH}
    groups += [
        {f"multi_query {layout} {other} {strategy}": Case(
            "multi_query", {"q_len": layout, "kv_len": (other, strategy)}, both)
         for layout, other in (("blocks", "striped"), ("zigzag", "blocks"), ("striped", "zigzag"))
         for strategy in ("ring", "all_gather")},
        {f"decode multi_query {layout}": Case("multi_query", {"kv_len": layout}, rows) for layout in LAYOUTS},
        {f"rows_alone {layout}": Case("rows_alone", {"q_len": layout}, both) for layout in LAYOUTS},
        {"decode unordered": Case("decode", {"kv_len": "unordered"}, {"q_len": 1, "kv_len": LENGTH})},
        {f"unordered {strategy}": Case("decode", {"q_len": "unordered", "kv_len": ("unordered", strategy)}, both)
         for strategy in ("ring", "all_gather")},
        {f"wide_window {strategy}": Case("wide_window", {"len": ("blocks", strategy)}, {"len": LENGTH})
         for strategy in ("halo", "ring")},
        {f"sixteen_bits {strategy}": Case("sixteen_bits", {"len": ("blocks", strategy)}, {"len": 50})
         for strategy in ("ring", "all_gather")},
        {f"layer {strategy}": Case("layer", {"len": ("zigzag", strategy)}, {"len": 71})
         for strategy in ("ring", "all_gather")},
    ]
    return groups


GROUPS = list_cases()
CASES = {name: case for group in GROUPS for name, case in group.items()}


def take_share():
    """The cases of a run: one of each group, another one with each seed, and a share of those."""
    if os.environ.get("ATTNC_TEST_ALL"):
        return list(CASES)
    seed = int(os.environ.get("ATTNC_TEST_SEED", "0"))
    return sample([list(group)[(seed + at) % len(group)] for at, group in enumerate(GROUPS)])


ATTENTION = """func.func @NAME(
    %query: tensor<?x4x?x16xf32> {attn.name = "query", attn.dims = ["batch", 4, "q_len", 16]},
    %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
    %value: tensor<?x2x?x24xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 24]})
    -> (tensor<?x4x?x24xf32> {attn.name = "context"}, tensor<?x4x?xf32> {attn.name = "lse"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>
  MASK
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x4x?x?xf32>, tensor<?x2x?x24xf32>
  %lse = attn.lse %masked : tensor<?x4x?x?xf32>
  return %context, %lse : tensor<?x4x?x24xf32>, tensor<?x4x?xf32>
}
"""
SPECS = {
    "rows_alone": ATTENTION.replace(
        "MASK", "%masked = attn.mask %score causal(bottom_right) : tensor<?x4x?x?xf32>"),
    "decode": ATTENTION.replace("  MASK\n", "").replace("%masked", "%score"),
    # A window over several ranks, on both sides.
    "wide_window": ATTENTION.replace("q_len", "len").replace("kv_len", "len").replace(
        "MASK", "%masked = attn.mask %score window(40, 20) : tensor<?x4x?x?xf32>"),
    "sixteen_bits": """func.func @NAME(
    %query: tensor<?x4x?x16xbf16> {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: tensor<?x4x?x16xbf16> {attn.name = "key", attn.dims = ["batch", 4, "len", 16]})
    -> (tensor<?x4x?x16xbf16> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x4x?x16xbf16>, tensor<?x4x?x16xbf16>
  %masked = attn.mask %score causal(top_left) : tensor<?x4x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x4x?x?xbf16>
  %context = attn.context %prob, %key : tensor<?x4x?x?xbf16>, tensor<?x4x?x16xbf16>
  return %context : tensor<?x4x?x16xbf16>
}
""",
    # What surrounds attention in a model works row by row.
    "layer": """func.func @NAME(
    %x: tensor<?x?x32xf32> {attn.name = "x", attn.dims = ["batch", "len", 32]},
    %wq: tensor<32x32xf32> {attn.name = "wq"}, %wk: tensor<32x32xf32> {attn.name = "wk"},
    %wv: tensor<32x32xf32> {attn.name = "wv"}, %wo: tensor<32x32xf32> {attn.name = "wo"})
    -> (tensor<?x?x32xf32> {attn.name = "y"}) {
  %q = attn.linear %x, %wq : tensor<?x?x32xf32>, tensor<32x32xf32>
  %k = attn.linear %x, %wk : tensor<?x?x32xf32>, tensor<32x32xf32>
  %v = attn.linear %x, %wv : tensor<?x?x32xf32>, tensor<32x32xf32>
  %qh = attn.split_heads %q num_heads(2) : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %kh = attn.split_heads %k num_heads(2) : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %vh = attn.split_heads %v num_heads(2) : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %score = attn.score %qh, %kh scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %vh : tensor<?x2x?x?xf32>, tensor<?x2x?x16xf32>
  %merged = attn.merge_heads %context : tensor<?x2x?x16xf32> -> tensor<?x?x32xf32>
  %y = attn.linear %merged, %wo : tensor<?x?x32xf32>, tensor<32x32xf32>
  %sum = arith.addf %x, %y : tensor<?x?x32xf32>
  return %sum : tensor<?x?x32xf32>
}
""",
}


# Ranks in threads.


class Exchange(ctypes.Structure):
    """attnc_exchange."""

    Message = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                               ctypes.POINTER(ctypes.c_int))
    Wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    _fields_ = [("context", ctypes.c_void_p), ("rank", ctypes.c_int), ("ranks", ctypes.c_int), ("send", Message),
                ("recv", Message), ("wait", Wait), ("progress", ctypes.c_void_p)]


class Options(calls.Options):
    _fields_ = [("context", ctypes.c_void_p), ("stream", ctypes.c_void_p), ("exchange", ctypes.POINTER(Exchange))]


class World:
    """The messages of some ranks. `seconds(bytes)` is how long a link, which each rank has one of, takes; of a
    message `cut(bytes)` arrive."""

    def __init__(self, ranks, seconds=lambda size: 0, timeout=30, cut=lambda size: size):
        self.ranks, self.seconds, self.timeout, self.cut = ranks, seconds, timeout, cut
        self.boxes = {(a, b): queue.Queue() for a in range(ranks) for b in range(ranks)}
        self.free = [0.0] * ranks  # when each link is

    def exchange(self, rank):
        started = []

        def send(_, data, size, to, message):
            begin = max(self.free[rank], time.monotonic())
            self.free[rank] = begin + self.seconds(size)
            self.boxes[rank, to].put((self.free[rank], ctypes.string_at(data, self.cut(size))))
            message[0] = len(started)
            started.append(None)
            return 0

        def recv(_, data, size, sender, message):
            message[0] = len(started)
            started.append((data, size, sender))
            return 0

        def wait(_, message):
            if started[message] is None:
                return 0
            data, size, sender = started[message]
            try:
                arrival, received = self.boxes[sender, rank].get(timeout=self.timeout)
            except queue.Empty:
                return -1
            if len(received) != size:
                return -2
            time.sleep(max(0.0, arrival - time.monotonic()))
            ctypes.memmove(data, received, size)
            return 0

        return Exchange(rank=rank, ranks=self.ranks, send=Exchange.Message(send), recv=Exchange.Message(recv),
                        wait=Exchange.Wait(wait))

    def run(self, library, shards):
        """The status, the error and the outputs of each rank, which are called with (inputs, outputs)."""
        results = [None] * self.ranks

        def call(rank):
            inputs, outputs = shards[rank]
            options = Options(size=ctypes.sizeof(Options), threads=1, exchange=ctypes.pointer(self.exchange(rank)))
            status = library.function(ctypes.byref(options), library.pointers(inputs + outputs))
            results[rank] = status, library.error().decode() if status else "", outputs

        threads = [threading.Thread(target=call, args=[rank]) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


# Shards.


def split(layout, ranks, size, ragged):
    """The number of rows of each rank, of a sequence of this size."""
    if not ragged or layout == "striped":
        return [size // ranks + (rank < size % ranks) for rank in range(ranks)]
    rng = np.random.default_rng(ranks)
    ends = np.sort(rng.integers(0, size + 1, ranks - 1))
    if ranks > 2:
        ends[1] = ends[0]  # a rank without rows
    return list(np.diff(ends, prepend=0, append=size))


def places(layout, rank, lengths):
    """The places of a sequence that a rank has."""
    if layout == "striped":
        return np.arange(rank, sum(lengths), len(lengths))
    if layout == "zigzag":
        early = [(length + 1) // 2 for length in lengths]
        late = [length - half for length, half in zip(lengths, early)]
        behind = sum(early) + sum(late[rank + 1:])
        return np.concatenate([sum(early[:rank]) + np.arange(early[rank]), behind + np.arange(late[rank])])
    return sum(lengths[:rank]) + np.arange(lengths[rank])


@dataclasses.dataclass
class Shards:
    """How a case is split."""

    case: Case
    ranks: int
    ragged: bool

    def places(self, dim, rank):
        size = self.case.sizes[dim]
        layout = layout_of(self.case.shard[dim])
        return places(layout, rank, split(layout, self.ranks, size, self.ragged))

    def take(self, array, dims, rank):
        for axis, dim in enumerate(dims):
            if dim in self.case.shard:
                array = array.take(self.places(dim, rank), axis)
        return np.ascontiguousarray(array)

    def put(self, whole, part, dims, rank):
        index = [self.places(dim, rank) if dim in self.case.shard else np.arange(size)
                 for dim, size in zip(dims, whole.shape)]
        whole[np.ix_(*index)] = part


def layout_of(shard):
    return shard if isinstance(shard, str) else shard[0]


# A case.


def read_spec(case):
    if case.function in SPECS:
        return SPECS[case.function].replace("NAME", case.function)
    with open(os.path.join(EXAMPLES, "variants", "spec.mlir")) as file:
        text = file.read()
    types = "".join(line + "\n" for line in text.splitlines() if line.startswith("!"))
    text = types + re.search(rf"func.func @{case.function}\(.*?\n}}\n", text, re.S)[0]
    if not case.is_decode:
        return text
    text = re.sub(r'(%query[_\d]*: .*?)"len"', r'\1"q_len"', text)
    return text.replace("causal(top_left)", "causal(bottom_right)").replace("window(3, 0)", "window(3, 0, bottom_right)")


def with_shard(spec, case):
    entries = ", ".join(f"{size} = #attn.shard<{shard if isinstance(shard, str) else ', '.join(shard)}>"
                        for size, shard in case.shard.items())
    one_kernel = ", attn.q_len = 40" if "len" in case.sizes else ""
    return re.sub(r"(\n    -> \(.*\)) {\n", rf"\1 attributes {{attn.shard = {{{entries}}}{one_kernel}}} {{\n", spec)


def compile_to(folder, name, spec):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".mlir")
    with open(path, "w") as file:
        file.write(spec)
    subprocess.run(["attnc", "compile", path, "--emit", "shared_library,json", "-o", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return calls.Library(os.path.join(folder, name + ".json"), {})


def make_input(parameter, case, rng):
    shape = [case.sizes.get(dim, {"batch": 2}.get(dim, dim)) for dim in parameter.shape]
    if parameter.name in case.integers:
        return np.ascontiguousarray(np.asarray(case.integers[parameter.name], np.int32))
    array = rng.standard_normal(shape).astype(np.float32)
    return (array.view(np.int32) >> 16).astype(np.int16) if parameter.dtype == "bf16" else array


def outputs_of(library, case):
    sizes = {"batch": 2, **case.sizes}
    return [np.zeros([sizes.get(dim, dim) for dim in p.shape], calls.TYPES[p.dtype]) for p in library.outputs]


def run_spread(library, inputs, case, ranks, ragged):
    split = Shards(case, ranks, ragged)
    shards = [([split.take(x, p.shape, rank) for p, x in zip(library.inputs, inputs)],
               [split.take(x, p.shape, rank) for p, x in zip(library.outputs, outputs_of(library, case))])
              for rank in range(ranks)]
    whole = outputs_of(library, case)
    results = World(ranks).run(library, shards)
    if any(status for status, *_ in results):
        sys.exit("".join(f"rank {rank}: {status}: {error}\n" for rank, (status, error, _) in enumerate(results)))
    for rank, (_, _, outputs) in enumerate(results):
        for parameter, array, part in zip(library.outputs, whole, outputs):
            split.put(array, part, parameter.shape, rank)
            # What is whole has the same bits on all ranks.
            assert np.array_equal(split.take(array, parameter.shape, rank), part, equal_nan=True)
    return whole


def reference(folder, name, library, inputs):
    """In f64, by attnc's own reference."""
    words = []
    for parameter, array in zip(library.inputs, inputs):
        path = os.path.join(folder, parameter.name + ".npy")
        np.save(path, widen(array, parameter).astype(np.float32) if parameter.dtype == "bf16" else array)
        words += ["--input", f"{parameter.name}=@{path}"]
    for parameter in library.outputs:
        words += ["--output", f"{parameter.name}=@{os.path.join(folder, 'out-' + parameter.name + '.npy')}"]
    subprocess.run(["attnc", "run", os.path.join(folder, name + ".mlir"), "--reference", "--f64", *words], check=True,
                   stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(folder, f"out-{parameter.name}.npy")) for parameter in library.outputs]


def widen(array, parameter):
    return (array.astype(np.int32) << 16).view(np.float32) if parameter.dtype == "bf16" else array


def check_case(name):
    case, rng = CASES[name], np.random.default_rng(0)
    function, is_half, good = case.function, case.function == "sixteen_bits", True
    with tempfile.TemporaryDirectory() as folder:
        library = compile_to(folder, function, with_shard(read_spec(case), case))
        inputs = [make_input(parameter, case, rng) for parameter in library.inputs]
        plain = outputs_of(library, case)
        if library.call(inputs, plain) != 0:  # a single process
            sys.exit(library.error().decode())
        exact = plain if is_half else reference(folder, function, library, inputs)
        for ranks, ragged in [(ranks, ragged) for ranks in RANKS for ragged in (False, True)]:
            ours = run_spread(library, inputs, case, ranks, ragged)
            again = run_spread(library, inputs, case, ranks, ragged)
            assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(ours, again)), "expected the same bits"
            for parameter, *results in zip(library.outputs, ours, plain, exact):
                results = [widen(x, parameter) for x in results]
                if is_half:  # merges round to bf16
                    good &= np.abs(results[0] - results[1]).max() < 0.03
                    continue
                good &= check.compare(f"{name}, {ranks} {'ragged' if ragged else 'even'} shards, {parameter.name}",
                                      *results)
    return good


# What goes wrong on one rank ends the call on all.


def check_failures():
    case, rng, name = Case("causal_padded", {"len": ("zigzag", "ring")}, {"len": 24}), np.random.default_rng(0), "causal_padded"
    with tempfile.TemporaryDirectory() as folder:
        library = compile_to(folder, name, with_shard(read_spec(case), case))
        gathering = dataclasses.replace(case, shard={"len": ("striped", "all_gather")})
        gathered = compile_to(os.path.join(folder, "gather"), name, with_shard(read_spec(gathering), gathering))

        def make_shards(lengths=(6, 6, 6, 6), batches=(2, 2, 2, 2)):
            return [([rng.standard_normal((batch, 4, n, 16)).astype(np.float32) for _ in range(3)]
                     + [np.full(batch, 24, np.int32)], [np.zeros((batch, 4, n, 16), np.float32)])
                    for n, batch in zip(lengths, batches)]

        def are(results, status, text):
            found = [(code, error) for code, error, _ in results]
            good = all(code == status and text in error for code, error in found)
            print(f"{text}: {'on all ranks' if good else f'WRONG {found}'}")
            return good

        def with_one_missing(library):
            world, call = World(4, timeout=0.5), library.function
            library.function = lambda options, pointers: (
                0 if options._obj.exchange.contents.rank == 2 else call(options, pointers))
            results = world.run(library, make_shards())
            library.function = call
            return results[:2] + results[3:]

        def with_cut(library, size):
            return World(4, cut=lambda found: found - (found == size)).run(library, make_shards())

        block = 2 * 4 * 6 * 16 * 4
        return all([
            are(World(4).run(library, make_shards(batches=(2, 2, 1, 2))), -1,
                "expected shards of the same sizes on all ranks, found"),
            are(World(4).run(gathered, make_shards(batches=(2, 2, 1, 2))), -1,
                "expected shards of the same sizes on all ranks, found"),
            are(World(4).run(gathered, make_shards((6, 6, 7, 6))), -1,
                "expected 7 striped rows on rank 0, found 6"),
            are(with_one_missing(library), -6, "found status -1 of the exchange"),
            are(with_one_missing(gathered), -6, "found status -1 of the exchange"),
            are(with_cut(library, block), -6, "found status -2 of the exchange"),
            are(with_cut(gathered, block), -6, "found status -2 of the exchange")])


def measure_overlap(ranks=4, length=2048):
    case = Case("causal_padded", {"len": ("zigzag", "ring")}, {"len": ranks * length})
    spec = read_spec(case).replace(" kv_lengths(%kv_len : tensor<?xi32>)", "").replace(
        ",\n    %kv_len: tensor<?xi32> {attn.name = \"kv_len\", attn.dims = [\"batch\"]}", "").replace("x16xf32", "x64xf32").replace(
        "16]", "64]")
    rng = np.random.default_rng(0)

    def measure(library, seconds):
        shards = [([rng.standard_normal((2, 4, length, 64)).astype(np.float32) for _ in range(3)],
                   [np.zeros((2, 4, length, 64), np.float32)]) for _ in range(ranks)]
        begin = time.monotonic()
        for status, error, _ in World(ranks, seconds).run(library, shards):
            assert status == 0, error
        return time.monotonic() - begin

    with tempfile.TemporaryDirectory() as folder:
        library = compile_to(folder, "causal_padded", with_shard(spec, case))
        measure(library, lambda size: 0)
        for _ in range(3):
            compute = measure(library, lambda size: 0)
            block = 2 * 2 * 4 * length * 64 * 4
            both = measure(library, lambda size: size / block * compute / ranks)
            link = compute * (ranks - 1) / ranks
            print(f"{ranks} ranks: computation {compute:.2f} s, links {link:.2f} s, both {both:.2f} s: "
                  f"{both / max(compute, link):.2f} times the longer")
    return True


def check_named(name):
    return {"failures": check_failures, "overlap": measure_overlap}.get(name, lambda: check_case(name))()


if __name__ == "__main__":
    sys.exit(not all([check_named(name) for name in sys.argv[1:] or [*take_share(), "failures"]]))
