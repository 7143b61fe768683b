"""OpenVINO's scaled_dot_product_attention and its linear layers."""

import encoder
import numpy as np
import openvino
import openvino.opset13 as ops
from encoder import Encoder
from work import Module

NAME = "OpenVINO"
VERSION = openvino.__version__.split("-")[0]
OPTIONS = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}


def takes(case):
    """Neither 16-bit elements, grouped heads nor a softcap, and no dense mask of a GB."""
    if isinstance(case, (Module, Encoder)):
        return True
    return case.element == "f32" and not case.kv_heads and case.variant.additive and case.q_len <= 8192


def parameter(array):
    return ops.parameter(array.shape, array.dtype)


def attention(case, query, key, value, mask):
    """`mask` is a list: the dense mask or bias, if any."""
    return ops.scaled_dot_product_attention(query, key, value, *mask, causal=case.variant.name == "causal")


def dense(case, arrays):
    if case.variant.visible and case.variant.name != "causal":
        return [case.dense_mask(arrays)]
    return [case.dense_bias(arrays)] if case.variant.score else []


def layer(case, hidden, arrays):
    """The module around its parameter; the weights are constants."""
    def linear(x, name):
        product = ops.matmul(x, ops.constant(arrays[name + "_weight"]), False, True)
        return ops.add(product, ops.constant(arrays[name + "_bias"]))

    def heads(name):
        split = ops.reshape(linear(hidden, name), [case.batch, case.len, case.heads, case.head_dim], False)
        return ops.transpose(split, [0, 2, 1, 3])

    context = attention(case, heads("query"), heads("key"), heads("value"), [])
    merged = ops.reshape(ops.transpose(context, [0, 2, 1, 3]), case.output_shape(), False)
    attended = linear(merged, "output")
    if not case.normed:
        return attended
    unit = ops.mvn(ops.add(attended, hidden), [-1], True, case.epsilon, "inside_sqrt")
    return ops.add(ops.multiply(unit, arrays["norm_scale"]), arrays["norm_bias"])


def build(case, arrays):
    """The model and what it is fed."""
    if isinstance(case, Encoder):
        return openvino.Core().read_model(encoder.read_onnx().SerializeToString()), list(arrays.values())
    names = ("hidden",) if isinstance(case, Module) else ("query", "key", "value")
    feeds = [arrays[name] for name in names]
    if not isinstance(case, Module):
        feeds += dense(case, arrays)
    parameters = [parameter(array) for array in feeds]
    result = (layer(case, *parameters, arrays) if isinstance(case, Module)
              else attention(case, *parameters[:3], parameters[3:]))
    return openvino.Model([result], parameters, "case"), feeds


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    model, feeds = build(case, arrays)
    request = openvino.Core().compile_model(model, "CPU", OPTIONS).create_infer_request()
    tensors = [openvino.Tensor(np.ascontiguousarray(array), shared_memory=True) for array in feeds]
    for place, tensor in enumerate(tensors):
        request.set_input_tensor(place, tensor)

    def call(_borrowed=(feeds, tensors)):  # a tensor does not keep its array alive
        request.infer()
        return request.get_output_tensor().data

    return call
