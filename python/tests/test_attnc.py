"""The Python package against numpy, and against PyTorch where that is installed.
Needs the program attnc."""

import contextlib
import copy
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import attnc
import numpy as np

try:
    import torch
except ImportError:
    torch = None

CAUSAL = """
func.func @causal(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "len", 16]},
                  %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "len", 16]},
                  %value: tensor<?x2x?x16xf32> {attn.name = "value", attn.dims = ["batch", 2, "len", 16]})
    -> (tensor<?x2x?x16xf32> {attn.name = "context", attn.dims = ["batch", 2, "len", 16]}) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x2x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x16xf32>
  return %context : tensor<?x2x?x16xf32>
}
"""

LINEAR = """
func.func @linear(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["n", 64]},
                  %weight: tensor<96x64xf32> {attn.weight = "weight"})
    -> (tensor<?x96xf32> {attn.name = "y", attn.dims = ["n", 96]}) {
  %y = attn.linear %x, %weight : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
"""

SUM = """
func.func @sum(%x: tensor<?x4xf32> {attn.name = "x", attn.dims = ["SYMBOL", 4]},
               %y: tensor<?x4xf32> {attn.name = "y", attn.dims = ["SYMBOL", 4]})
    -> (tensor<?x4xf32> {attn.name = "sum", attn.dims = ["SYMBOL", 4]}) {
  %sum = arith.addf %x, %y : tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}
"""

BOTH_AXES = """
func.func @both(%x: tensor<4x8xf32> {attn.name = "x"})
    -> (tensor<4x8xf32> {attn.name = "down"}, tensor<4x8xf32> {attn.name = "along"}) {
  %down = attn.softmax %x axis(0) : tensor<4x8xf32>
  %along = attn.softmax %x : tensor<4x8xf32>
  return %down, %along : tensor<4x8xf32>, tensor<4x8xf32>
}
"""


FLOAT8 = """
func.func @float8(%bits: tensor<256xf8E4M3FN>) -> (tensor<256xf32>, tensor<256xf8E4M3FN>) {
  %wide = arith.extf %bits : tensor<256xf8E4M3FN> to tensor<256xf32>
  %same = arith.truncf %wide : tensor<256xf32> to tensor<256xf8E4M3FN>
  return %wide, %same : tensor<256xf32>, tensor<256xf8E4M3FN>
}
"""


def softmax(score):
    weight = np.exp(score - score.max(-1, keepdims=True))
    return weight / weight.sum(-1, keepdims=True)


def causal(query, key, value):
    score = np.float64(0.25) * query @ key.swapaxes(-1, -2)
    visible = np.tri(*score.shape[-2:], dtype=bool)
    return softmax(np.where(visible, score, -np.inf)) @ value


def random_inputs(length=20, batch=2):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((batch, 2, length, 16), dtype=np.float32) for _ in range(3)]


class KernelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = attnc.compile(CAUSAL)

    def check(self, context, inputs):
        np.testing.assert_allclose(context, causal(*inputs), rtol=0, atol=2e-6)

    def test_numbers(self):
        inputs = random_inputs()
        context = self.kernel(*inputs)
        self.assertEqual((context.shape, context.dtype), ((2, 2, 20, 16), np.float32))
        self.check(context, inputs)

    def test_by_name(self):
        query, key, value = inputs = random_inputs()
        self.check(self.kernel(query, value=value, key=key), inputs)

    def test_writes_where_told(self):
        inputs, out = random_inputs(), np.empty((2, 2, 20, 16), np.float32)
        self.assertIs(self.kernel(*inputs, out=out), out)
        self.check(out, inputs)

    def test_reads_views_in_place(self):
        """A view that is not contiguous, and one that may not be written."""
        inputs = [a.swapaxes(1, 2).copy().swapaxes(1, 2) for a in random_inputs()]
        inputs[1].flags.writeable = False
        self.check(self.kernel(*inputs), inputs)

    def test_number_of_threads_changes_no_bit(self):
        inputs = random_inputs(length=300)
        one, two = (self.kernel(*inputs, threads=n) for n in (1, 2))
        np.testing.assert_array_equal(one, two)

    def test_description(self):
        self.assertEqual(self.kernel.description["inputs"][0],
                         {"name": "query", "dtype": "f32", "dims": ["batch", 2, "len", 16]})
        self.assertEqual(repr(self.kernel).split(" key")[0], "<attnc kernel causal(query: f32[batch, 2, len, 16],")

    def test_other_threads_run(self):
        """With so long a switch interval a thread runs during a call only if the call lets it."""
        inputs, moments = random_inputs(length=2000), []
        self.kernel(*inputs)
        interval, end = sys.getswitchinterval(), threading.Event()

        def watch():
            while not end.is_set():
                moments.append(time.monotonic())
                time.sleep(0.001)

        def seen_in_a_call():
            start = time.monotonic()
            self.kernel(*inputs, threads=1)
            stop = time.monotonic()
            return any(start < moment < stop for moment in moments)

        watcher = threading.Thread(target=watch)
        sys.setswitchinterval(1000)
        try:
            watcher.start()
            # A busy machine may not get round to the watcher within one call.
            self.assertTrue(any(seen_in_a_call() for _ in range(500)))
        finally:
            sys.setswitchinterval(interval)
            end.set()
            watcher.join()

    def test_wrong_sizes(self):
        query, key, value = random_inputs()
        with self.assertRaisesRegex(ValueError, "key: .* to be 20 as in query, found 19"):
            self.kernel(query, key[:, :, 1:], value)
        with self.assertRaisesRegex(ValueError, "query: expected 4 dims, found 3"):
            self.kernel(query[0], key, value)
        with self.assertRaisesRegex(ValueError, "value: .*f64"):
            self.kernel(query, key, value.astype(np.float64))
        with self.assertRaisesRegex(ValueError, "context: expected"):
            self.kernel(query, key, value, out=np.empty((1, 2, 20, 16), np.float32))

    def test_what_is_no_array(self):
        query, key, value = random_inputs()
        with self.assertRaisesRegex(TypeError, "query: expected an array that speaks DLPack, found list"):
            self.kernel(query.tolist(), key, value)
        with self.assertRaisesRegex(TypeError, "expected an array that speaks DLPack, found str"):
            self.kernel(query, "key", value)
        frozen = np.empty_like(query)
        frozen.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "expected a writable array"):
            self.kernel(query, key, value, out=frozen)

    def test_threads(self):
        inputs = random_inputs()
        for threads in 2.0, "2", None:
            with self.assertRaisesRegex(TypeError, f"threads: expected an int, found {threads!r}"):
                self.kernel(*inputs, threads=threads)
        for threads in -1, 2**31:
            with self.assertRaisesRegex(ValueError, f"threads.*, found {threads}"):
                self.kernel(*inputs, threads=threads)
        self.check(self.kernel(*inputs, threads=np.int64(1)), inputs)

    def test_wrong_number_of_arrays(self):
        query, key, value = random_inputs()
        with self.assertRaisesRegex(TypeError, r"expected 3 inputs \(query, key, value\), found 2"):
            self.kernel(query, key)
        with self.assertRaisesRegex(TypeError, "expected inputs named value, found lenght"):
            self.kernel(query, key, lenght=value)
        with self.assertRaisesRegex(TypeError, "expected 1 arrays in out, found 2"):
            self.kernel(query, key, value, out=(query, key))

    def test_copies(self):
        self.assertIs(copy.deepcopy([self.kernel])[0], self.kernel)
        with self.assertRaisesRegex(TypeError, "expected no pickling of a kernel: keep its library.*attnc.load it, found causal"):
            pickle.dumps(self.kernel)


class CompileTest(unittest.TestCase):
    def test_several_results(self):
        x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
        down, along = attnc.compile(BOTH_AXES)(x)
        np.testing.assert_allclose(down, softmax(x.T).T, rtol=1e-5)
        np.testing.assert_allclose(along, softmax(x), rtol=1e-5)

    def test_float8(self):
        bits = np.arange(256, dtype=np.uint8)  # numpy has no such type
        wide, same = attnc.compile(FLOAT8)(bits)
        np.testing.assert_array_equal(same, bits)
        np.testing.assert_array_equal(wide[[0, 1, 8, 0x38, 0x7E, 0x80 + 0x39]], [0, 2**-9, 2**-6, 1, 448, -1.125])
        self.assertEqual(np.flatnonzero(np.isnan(wide)).tolist(), [127, 255])

    def test_path_name_and_target(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spec.mlir")
            with open(path, "w") as file:
                file.write(CAUSAL)
            kernel = attnc.compile(path, target="x86-64-linux-sse41", name="attend")
        self.assertEqual((kernel.name, kernel.description["target"]), ("attend", "x86-64-linux-sse41"))
        inputs = random_inputs()
        np.testing.assert_allclose(kernel(*inputs), causal(*inputs), rtol=0, atol=2e-6)

    def test_text_on_one_line(self):
        self.assertEqual(attnc.compile(CAUSAL.replace("\n", " ")).name, "causal")

    def test_function(self):
        both = SUM.replace("SYMBOL", "n") + BOTH_AXES
        x = np.ones((4, 8), np.float32)
        self.assertEqual(len(attnc.compile(both, function="both")(x)), 2)
        with self.assertRaisesRegex(attnc.CompileError, "neither"):
            attnc.compile(both, function="neither")
        with self.assertRaisesRegex(attnc.CompileError, "expected one function, or function= to choose one of sum, both"):
            attnc.compile(both)

    def test_hostile_names(self):
        """Symbols and names of files are text wherever they stand, and no options."""
        symbol = "*/\n\x1b[2J\u202e%s"
        quoted = "".join(f"\\{byte:02X}" for byte in symbol.encode())
        kernel = attnc.compile(SUM.replace("SYMBOL", quoted))
        x, y = np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)
        np.testing.assert_array_equal(kernel(x, y), x + y)
        self.assertEqual(kernel.description["inputs"][0]["dims"], [symbol, 4])
        self.assertTrue(repr(kernel).isprintable(), repr(kernel))
        with self.assertRaises(ValueError) as refused:
            kernel(x, y[1:])
        self.assertTrue(str(refused.exception).isprintable(), refused.exception)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            with open("--help.mlir", "w") as file:
                file.write(CAUSAL)
            self.assertEqual(attnc.compile("--help.mlir").name, "causal")
            with self.assertRaisesRegex(attnc.CompileError, r"\\x1b.mlir"):
                attnc.compile("\x1b.mlir")

    def test_diagnostics(self):
        with self.assertRaisesRegex(attnc.CompileError, r"spec.mlir:1:\d+: error: "):
            attnc.compile("func.func @broken(\n")
        with self.assertRaisesRegex(attnc.CompileError, "^target: error: expected .*'nowhere'"):
            attnc.compile(CAUSAL, target="nowhere")
        with self.assertRaisesRegex(attnc.CompileError, "^name: error: expected a name other than main"):
            attnc.compile(CAUSAL, name="main")
        with self.assertRaisesRegex(ValueError, "name: expected a C identifier, found '--help'"):
            attnc.compile(CAUSAL, name="--help")

    def test_load(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(OSError, "libnone.so"):
                attnc.load(os.path.join(folder, "libnone.so"))
            with self.assertRaisesRegex(ValueError, "path: expected .* libNAME.so, or the name of its C function by name=, found .*/kernel$"):
                attnc.load(os.path.join(folder, "kernel"))
            with self.assertRaisesRegex(ValueError, "spec.mlir: attnc.compile takes specs"):
                attnc.load("spec.mlir")
            empty = os.path.join(folder, "libempty.so")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-x", "c", "/dev/null", "-o", empty], check=True)
            with self.assertRaisesRegex(OSError, "empty_call"):
                attnc.load(empty)


class WeightsTest(unittest.TestCase):
    """Weights within a library, and in a file beside it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        rng = np.random.default_rng(0)
        weight = rng.standard_normal((96, 64), dtype=np.float32)
        self.x = rng.standard_normal((3, 64), dtype=np.float32)
        self.expected = self.x @ weight.T
        header = b'{"weight":{"dtype":"F32","shape":[96,64],"data_offsets":[0,24576]}}'
        self.model = self.write("model.safetensors", struct.pack("<Q", len(header)) + header + weight.tobytes())
        self.spec = self.write("linear.mlir", LINEAR.encode())

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def check(self, kernel):
        np.testing.assert_allclose(kernel(self.x), self.expected, rtol=0, atol=1e-4)

    def compile_beside(self):
        """The paths of a library and of its file of weights."""
        command = ["attnc", "compile", self.spec, "--weights", self.model, "--weights-beside", "--emit", "shared_library"]
        subprocess.run(command + ["-o", self.folder], check=True, stdout=subprocess.DEVNULL)
        return os.path.join(self.folder, "liblinear.so"), os.path.join(self.folder, "linear.weights.safetensors")

    def test_within(self):
        kernel = attnc.compile(self.spec, weights=self.model)
        self.check(kernel)
        self.assertNotIn("weights", kernel.description)

    def test_beside(self):
        library, weights = self.compile_beside()
        self.check(attnc.load(library))
        with open("/proc/self/maps") as maps:
            self.assertIn(weights, maps.read())

    def test_elsewhere(self):
        library, weights = self.compile_beside()
        os.rename(weights, weights + ".moved")
        with self.assertRaisesRegex(OSError, "linear.weights.safetensors: could not open"):
            attnc.load(library)
        with self.assertRaisesRegex(OSError, "expected the weights of linear, found another file"):
            attnc.load(library, weights=self.model)
        self.check(attnc.load(library, weights=weights + ".moved"))


@unittest.skipIf(torch is None, "needs PyTorch")
class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = attnc.compile(CAUSAL)
        cls.op = attnc.torch_op("attnc_test::causal", cls.kernel)

    def test_tensors(self):
        inputs = random_inputs()
        context = self.kernel(*map(torch.from_numpy, inputs))
        self.assertIsInstance(context, torch.Tensor)
        np.testing.assert_allclose(context, causal(*inputs), rtol=0, atol=2e-6)

    def test_zero_copy(self):
        inputs, out = random_inputs(), torch.empty(2, 2, 20, 16)
        self.assertIs(self.kernel(*inputs, out=out), out)
        np.testing.assert_allclose(out, causal(*inputs), rtol=0, atol=2e-6)

    def test_refuses_what_needs_gradients(self):
        query, key, value = map(torch.from_numpy, random_inputs())
        expected = self.kernel(query, key, value)
        value.requires_grad_()
        with self.assertRaisesRegex(ValueError, "requires_grad.*torch.no_grad"):
            self.kernel(query, key, value)
        for mode in torch.no_grad, torch.inference_mode:
            with mode():
                torch.testing.assert_close(self.kernel(query, key, value), expected, rtol=0, atol=0)

    def test_refuses_what_is_not_as_it_lies_in_memory(self):
        query, key, value = map(torch.from_numpy, random_inputs())
        with self.assertRaisesRegex(ValueError, "resolve_neg"):
            self.kernel(query, key, torch._neg_view(value))
        for other in value.to("meta"), value.to_sparse():
            with self.assertRaisesRegex(TypeError, "expected an array that speaks DLPack, found"):
                self.kernel(query, key, other)

    def test_reads_views_in_place(self):
        inputs = [torch.from_numpy(a) for a in random_inputs()]
        views = [a.transpose(1, 2).contiguous().transpose(1, 2) for a in inputs]
        torch.testing.assert_close(self.kernel(*views), self.kernel(*inputs), rtol=0, atol=0)
        with self.assertRaisesRegex(ValueError, "query: expected dim 3 to have stride 1, found"):
            self.kernel(inputs[0].transpose(2, 3).contiguous().transpose(2, 3), *inputs[1:])

    def test_from_torch(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.project = torch.nn.Linear(16, 16)

            def forward(self, query, key, value):
                attend = torch.nn.functional.scaled_dot_product_attention
                return self.project(attend(query, key, value, is_causal=True))

        torch.manual_seed(0)
        block, inputs = Block().eval(), tuple(map(torch.from_numpy, random_inputs()))
        kernel = attnc.from_torch(block, inputs)
        self.assertEqual(kernel.name, "Block")
        self.assertIn("causal", " ".join(kernel.description["graph"]))
        with torch.no_grad():
            torch.testing.assert_close(kernel(*inputs), block(*inputs))
        length = torch.export.Dim("length", min=2)
        opened = attnc.from_torch(block, inputs, dynamic_shapes=({2: length},) * 3, name="opened")
        longer = tuple(map(torch.from_numpy, random_inputs(length=33)))
        with torch.no_grad():
            torch.testing.assert_close(opened(*longer), block(*longer))

    def test_from_torch_of_a_cache(self):
        """In training mode, with one tensor given twice, and results whose sizes are sums of the inputs'."""
        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.project, self.dropout = torch.nn.Linear(32, 64), torch.nn.Dropout(0.5)

            def forward(self, x, keys, values):
                query, key, value = (part.unflatten(-1, (-1, 16)).transpose(1, 2)
                                     for part in self.project(x).split((32, 16, 16), -1))
                keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
                context = torch.nn.functional.scaled_dot_product_attention(query, keys, values, enable_gqa=True)
                return self.dropout(context.transpose(1, 2).flatten(2)), keys, values

        torch.manual_seed(0)
        step, cache, dim = Step(), torch.randn(2, 1, 5, 16), torch.export.Dim
        batch, length, cached = dim("batch"), dim("length"), dim("cached")
        kernel = attnc.from_torch(step, (torch.randn(2, 3, 32), cache, cache),
                                  dynamic_shapes=({0: batch, 1: length}, {0: batch, 2: cached}, {0: batch, 2: cached}))
        self.assertTrue(step.training and step.dropout.training)
        inputs = torch.randn(3, 4, 32), torch.randn(3, 1, 9, 16), torch.randn(3, 1, 9, 16)
        with torch.no_grad():
            torch.testing.assert_close(kernel(*inputs), step.eval()(*inputs))

    def test_from_torch_refuses(self):
        def function(x):
            return x

        with self.assertRaisesRegex(TypeError, "module: expected a torch.nn.Module, found function"):
            attnc.from_torch(function, (torch.ones(1),))
        with self.assertRaisesRegex(TypeError, "example_inputs: expected a tuple, found Tensor"):
            attnc.from_torch(torch.nn.Identity(), torch.ones(1))

        class Count(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(()))

            def forward(self, x, cache):
                if cache is None:
                    self.calls += 1
                    return x * self.calls
                cache[:, :1] = x
                return cache * 2

        for cache, written in (None, "buffer 'calls'"), (torch.zeros(1, 3), "input 'cache'"):
            with self.assertRaisesRegex(NotImplementedError, f"Count: the module writes its {written}, which a kernel leaves"):
                attnc.from_torch(Count(), (torch.ones(1, 1), cache))

    def test_dict_as_the_last_input(self):
        class Product(torch.nn.Module):
            def forward(self, x, parts):
                return x + parts["a"] @ parts["b"]

        x, a, b = torch.ones(3, 2), torch.randn(3, 4), torch.randn(4, 2)
        kernel = attnc.from_torch(Product(), (x, {"a": a, "b": b}))
        torch.testing.assert_close(kernel(x, a, b), x + a @ b)

    def test_op_of_what_is_trained(self):
        """Values are right; that there is no derivative is an error when one is asked for."""
        inputs = [torch.from_numpy(a).requires_grad_() for a in random_inputs()]
        context = self.op(*inputs)
        torch.testing.assert_close(context.detach(), self.kernel(*[a.detach() for a in inputs]))
        with self.assertRaisesRegex(NotImplementedError, "attnc_test::causal: expected no gradient .*torch.no_grad"):
            context.sum().backward()

    def test_forward_mode(self):
        """A tangent is refused, not lost."""
        query, key, value = map(torch.from_numpy, random_inputs())
        for call, error in (self.kernel, ValueError), (self.op, NotImplementedError):
            def attend(query):
                return call(query, key, value)

            with self.assertRaisesRegex(error, "forward mode"):
                torch.func.jvp(attend, (query,), (query,))
            with torch.autograd.forward_ad.dual_level():
                torch.testing.assert_close(attend(query), self.kernel(query, key, value))
                with self.assertRaisesRegex(error, "forward mode"):
                    attend(torch.autograd.forward_ad.make_dual(query, query))

    def test_op_refuses(self):
        for name in "causal", "a::b::c", "my op::f", 3:
            with self.assertRaisesRegex(ValueError, 'name: expected one of the form "namespace::name", found'):
                attnc.torch_op(name, self.kernel)
        with self.assertRaisesRegex(TypeError, "kernel: expected one of attnc.compile, load or from_torch, found function"):
            attnc.torch_op("attnc_test::other", causal)

    def test_op(self):
        torch.library.opcheck(self.op, tuple(map(torch.from_numpy, random_inputs())))

    def test_compile_and_export(self):
        class Model(torch.nn.Module):
            def forward(self, query, key, value):
                return torch.ops.attnc_test.causal(query * 2, key, value) + query

        inputs = tuple(map(torch.from_numpy, random_inputs()))
        expected = Model()(*inputs)
        compiled = torch.compile(Model(), fullgraph=True)(*inputs)
        exported = torch.export.export(Model(), inputs).module()(*inputs)
        torch.testing.assert_close(compiled, expected)
        torch.testing.assert_close(exported, expected)


if __name__ == "__main__":
    unittest.main()
