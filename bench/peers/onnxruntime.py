"""ONNX Runtime's MultiHeadAttention, its fastest attention on a CPU, which keeps heads side by side,
[batch, len, heads · head_dim]; of grouped heads and f16 GroupQueryAttention, which appends to a cache in place."""

import encoder
import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
from encoder import Encoder
from onnx import TensorProto, helper
from work import Module

NAME = "ONNX Runtime"
VERSION = onnxruntime.__version__
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]


def is_grouped(case):
    return not isinstance(case, (Module, Encoder)) and bool(case.kv_heads or case.element == "f16")


def takes(case):
    """Neither bf16 nor a softcap, of grouped heads the last rows of their keys alone, and no dense bias of a GB."""
    if isinstance(case, (Module, Encoder)):
        return True
    if is_grouped(case):
        causal = case.variant.name == "chunk" or (case.variant.name == "causal" and case.keys == case.q_len)
        return case.element != "bf16" and (causal or (case.variant.name == "" and case.q_len == 1))
    return case.element == "f32" and not case.kv_heads and case.variant.additive and case.q_len <= 8192


def merge_heads(array):
    batch, heads, length, head_dim = array.shape
    return np.ascontiguousarray(array.swapaxes(1, 2)).reshape(batch, length, heads * head_dim)


def load(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def session(nodes, feeds, result, constants={}):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        nodes, "case", [value(name, array.shape) for name, array in feeds.items()], [value(*result)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return load(helper.make_model(graph, opset_imports=OPSETS, ir_version=10))


def attention(case, inputs, result):
    return helper.make_node("MultiHeadAttention", inputs, [result], domain="com.microsoft",
                            num_heads=case.heads, unidirectional=int(case.variant.name == "causal"))


def prepare_attention(case, arrays):
    feeds = {name: merge_heads(arrays[name]) for name in ("query", "key", "value")}
    inputs = list(feeds)
    if case.variant.name not in ("", "causal"):
        bias = case.dense_bias(arrays)
        feeds["bias"] = np.broadcast_to(bias, bias.shape[:2] + (case.q_len, case.keys))
        inputs += ["", "", "bias"]
    run = session([attention(case, inputs, "context")], feeds,
                  ("context", (case.batch, case.q_len, case.heads * case.head_dim))).run
    split = (case.batch, case.q_len, case.heads, case.head_dim)
    feeds = {name: np.ascontiguousarray(array) for name, array in feeds.items()}
    return lambda: run(None, feeds)[0].reshape(split).swapaxes(1, 2)


def prepare_grouped(case, arrays):
    """The cache holds all keys; a call writes the last ones, of the query's rows, once more."""
    new = slice(case.keys - case.q_len, None)
    last = {name: merge_heads(arrays[name][:, :, new]) for name in ("key", "value")}
    feeds = {"query": merge_heads(arrays["query"]), **last, "past_key": arrays["key"], "past_value": arrays["value"],
             "seqlens_k": np.full(case.batch, case.keys - 1, np.int32),
             "total_sequence_length": np.array([case.keys], np.int32)}
    results = ["context", "present_key", "present_value"]
    node = helper.make_node("GroupQueryAttention", list(feeds), results, domain="com.microsoft",
                            num_heads=case.heads, kv_num_heads=case.key_heads)
    value = lambda name, array: helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    outputs = dict(zip(results, (np.empty_like(feeds["query"]), arrays["key"], arrays["value"])))
    graph = helper.make_graph([node], "case", [value(*each) for each in feeds.items()],
                              [value(*each) for each in outputs.items()])
    runtime = load(helper.make_model(graph, opset_imports=OPSETS, ir_version=10))
    binding = runtime.io_binding()
    held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in (feeds | outputs).items()}
    held |= {"present_" + name: held["past_" + name] for name in ("key", "value")}
    for name in feeds:
        binding.bind_ortvalue_input(name, held[name])
    for name in results:
        binding.bind_ortvalue_output(name, held[name])
    split = (case.batch, case.q_len, case.heads, case.head_dim)

    def call(_borrowed=(feeds, outputs)):
        runtime.run_with_iobinding(binding)
        return held["context"].numpy().reshape(split).swapaxes(1, 2)

    return call


def prepare_module(case, arrays):
    constants = {n: a.T if n.endswith("_weight") else a for n, a in arrays.items() if n != "hidden"}
    nodes = []

    def linear(input, name, result):
        nodes.append(helper.make_node("MatMul", [input, name + "_weight"], [name + "_product"]))
        nodes.append(helper.make_node("Add", [name + "_product", name + "_bias"], [result]))

    for name in ("query", "key", "value"):
        linear("hidden", name, name)
    nodes.append(attention(case, ["query", "key", "value"], "context"))
    linear("context", "output", "attended")
    if case.normed:
        nodes += [helper.make_node("Add", ["attended", "hidden"], ["added"]),
                  helper.make_node("LayerNormalization", ["added", "norm_scale", "norm_bias"], ["normed"],
                                   axis=-1, epsilon=case.epsilon)]
    feeds = {"hidden": arrays["hidden"]}
    result = "normed" if case.normed else "attended"
    run = session(nodes, feeds, (result, case.output_shape()), constants).run
    return lambda: run(None, feeds)[0]


def prepare_encoder(arrays):
    run = load(encoder.read_onnx()).run
    return lambda: run(None, arrays)[0]


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    if isinstance(case, Encoder):
        return prepare_encoder(arrays)
    if is_grouped(case):
        return prepare_grouped(case, arrays)
    return (prepare_module if isinstance(case, Module) else prepare_attention)(case, arrays)
