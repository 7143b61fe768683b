"""Models of ONNX Runtime's own ops, and what it computes with them.

usage: optimize.py

Needs PyTorch 2.15, transformers 5.23, onnx 1.23 and onnxruntime 1.31. The encoder is what ONNX
Runtime's optimizer makes of a BERT that PyTorch exported, the decoders are written as its tools
write them: one with a cache (past and present) that is full to different lengths, one that looks
at what an encoder gives. Numbers are ONNX Runtime's, in float32; its error is taken to be
8 eps of the largest.
"""

import contextlib
import io
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.transformers import optimizer

HERE = pathlib.Path(__file__).parent
EPS = np.finfo(np.float32).eps
WIDTH, HEADS, GROUPS, SIZE, WORDS, ROOM = 16, 4, 2, 16, 20, 16
random = np.random.default_rng(0)


def normal(*shape):
    """Values of bfloat16's precision, which take less room."""
    return torch.tensor(random.normal(size=shape)).bfloat16().float().numpy()


#===--------------------------------------------------------------------------------------------===#
# The encoder
#===--------------------------------------------------------------------------------------------===#


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.BertConfig(
            hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=HEADS,
            intermediate_size=24, vocab_size=WORDS, max_position_embeddings=ROOM)
        config._attn_implementation = "eager"
        self.bert = transformers.BertModel(config, add_pooling_layer=False)

    def forward(self, ids, mask, kinds):
        return self.bert(input_ids=ids, attention_mask=mask,
                         token_type_ids=kinds).last_hidden_state


def make_encoder(path):
    torch.manual_seed(0)
    module = Encoder().eval()
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.copy_((tensor + 0.1 * torch.randn_like(tensor)).bfloat16())
    inputs = {name: torch.from_numpy(x) for name, x in make_encoder_inputs(2, 5).items()}
    dims = {0: "batch", 1: "length"}
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module, tuple(inputs.values()), path, dynamo=False, opset_version=17,
                          input_names=list(inputs), output_names=["out"],
                          dynamic_axes=dict.fromkeys((*inputs, "out"), dims))
    optimizer.optimize_model(str(path), "bert", HEADS, WIDTH).save_model_to_file(str(path))


def make_encoder_inputs(batch, length):
    mask = np.arange(length) < np.array([[length], *[[length - 2]] * (batch - 1)])
    return {"ids": random.integers(0, WORDS, (batch, length)), "mask": mask.astype(np.int64),
            "kinds": random.integers(0, 2, (batch, length))}


#===--------------------------------------------------------------------------------------------===#
# The decoders
#===--------------------------------------------------------------------------------------------===#


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, value):
        self.weights.append(numpy_helper.from_array(value, f"weight{len(self.weights)}"))
        return self.weights[-1].name

    def matrix(self, rows, columns):
        return self.weight(normal(rows, columns) / np.float32(8))

    def op(self, name, inputs, outputs=1, own=False, **attributes):
        """The node's first output, or all that are wanted, in a list."""
        names = [f"{name}{len(self.nodes)}_{i}" for i in range(outputs)] \
            if isinstance(outputs, int) else outputs
        self.nodes.append(helper.make_node(
            name, inputs, names, domain="com.microsoft" if own else "", **attributes))
        return names if len(names) > 1 else names[0]

    def own(self, name, inputs, outputs=1, **attributes):
        return self.op(name, inputs, outputs, own=True, **attributes)

    def save(self, path, inputs, outputs):
        values = [helper.make_tensor_value_info(name, kind, shape)
                  for name, (kind, shape) in (inputs | outputs).items()]
        graph = helper.make_graph(self.nodes, path.stem, values[:len(inputs)],
                                  values[len(inputs):], self.weights)
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]), path)


def make_angles(half):
    angles = np.arange(ROOM)[:, None] / 100.0 ** (np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def make_decoder(path):
    """Rotary positions, grouped heads, a window and a cap, as ONNX Runtime's builder of generative
    models writes them."""
    g = Graph()
    x = g.op("Gather", [g.matrix(WORDS, WIDTH), "ids"])
    norm = g.op("SimplifiedLayerNormalization", [x, g.weight(normal(WIDTH))],
                axis=-1, epsilon=1e-5)
    packed = g.op("MatMul", [norm, g.matrix(WIDTH, SIZE * (HEADS + 2 * GROUPS))])
    one = g.weight(np.array([1], np.int64))
    sums = g.op("ReduceSum", ["mask", one])
    ends = g.op("Cast", [g.op("Sub", [sums, one])], to=TensorProto.INT32)
    size = g.op("Gather", [g.op("Shape", ["mask"]), g.weight(np.array(1, np.int64))])
    total = g.op("Cast", [size], to=TensorProto.INT32)
    cos, sin = (g.weight(x) for x in make_angles(SIZE // 2))
    context, *_ = g.own("GroupQueryAttention",
                        [packed, "", "", "past_key", "past_value", ends, total, cos, sin],
                        ["context", "present_key", "present_value"], num_heads=HEADS,
                        kv_num_heads=GROUPS, do_rotary=1, local_window_size=5, softcap=4.0)
    attended = g.op("MatMul", [context, g.matrix(SIZE * HEADS, WIDTH)])
    norm, _, _, total = g.own("SkipSimplifiedLayerNormalization",
                              [x, attended, g.weight(normal(WIDTH))],
                              ["norm", "", "", "sum"], epsilon=1e-5)
    gate = g.own("QuickGelu", [g.op("MatMul", [norm, g.matrix(WIDTH, 24)])], alpha=1.0)
    wide = g.op("Mul", [gate, g.op("MatMul", [norm, g.matrix(WIDTH, 24)])])
    down = g.op("MatMul", [wide, g.matrix(24, WIDTH)])
    g.own("SkipSimplifiedLayerNormalization", [total, down, g.weight(normal(WIDTH))], ["out"],
          epsilon=1e-5)
    ids, mask, floats = TensorProto.INT64, TensorProto.INT64, TensorProto.FLOAT
    past, present = (["batch", GROUPS, size, SIZE] for size in ("past", "total"))
    g.save(path,
           {"ids": (ids, ["batch", "length"]), "mask": (mask, ["batch", "total"]),
            "past_key": (floats, past), "past_value": (floats, past)},
           {"out": (floats, ["batch", "length", WIDTH]), "present_key": (floats, present),
            "present_value": (floats, present)})


def make_decoder_inputs(batch, length, past=4):
    # Rows of padding, which a shorter batch of several ends in, are left open.
    ends = past + length - np.arange(batch) * (length == 1)
    mask = (np.arange(past + length) < ends[:, None]).astype(np.int64)
    shape = (batch, GROUPS, past, SIZE)
    return {"ids": random.integers(0, WORDS, (batch, length)), "mask": mask,
            "past_key": normal(*shape), "past_value": normal(*shape)}


def make_cross(path):
    """Positions, a bias of every kind and a mask of padding."""
    g = Graph()
    rotated = g.own("RotaryEmbedding",
                    ["rows", "places", *(g.weight(x) for x in make_angles(2))], num_heads=HEADS)
    biases = g.weight(normal(3 * WIDTH))
    own = g.own("MultiHeadAttention", [rotated, rotated, "rows", biases], num_heads=HEADS,
                unidirectional=1)
    norm, _, _, total = g.own("SkipLayerNormalization",
                              ["rows", own, *(g.weight(normal(WIDTH)) for _ in range(3))],
                              ["norm", "", "", "sum"], epsilon=1e-5)
    seen = g.own("MultiHeadAttention",
                 [norm, "memory", "memory", biases, "mask", "bias"], num_heads=HEADS, scale=0.25)
    wide = g.own("FastGelu", [g.op("MatMul", [seen, g.matrix(WIDTH, 24)]), g.weight(normal(24))])
    narrow = g.own("FusedMatMul", [wide, g.matrix(WIDTH, 24)], transB=1, alpha=0.5)
    g.own("SkipLayerNormalization",
          [total, narrow, g.weight(normal(WIDTH)), g.weight(normal(WIDTH))], ["out"], epsilon=1e-5)
    floats, rows = TensorProto.FLOAT, ["batch", "length", WIDTH]
    g.save(path,
           {"rows": (floats, rows), "places": (TensorProto.INT64, ["batch", "length"]),
            "memory": (floats, ["batch", "memory", WIDTH]),
            "mask": (TensorProto.INT32, ["batch", "memory"]),
            "bias": (floats, ["batch", HEADS, "length", "memory"])},
           {"out": (floats, rows)})


def make_cross_inputs(batch, length):
    memory = length + 2
    mask = np.arange(memory) < np.array([[memory], *[[memory - 3]] * (batch - 1)])
    places = np.arange(length) + random.integers(0, 4, (batch, 1))
    return {"rows": normal(batch, length, WIDTH), "places": places,
            "memory": normal(batch, memory, WIDTH), "mask": mask.astype(np.int32),
            "bias": normal(batch, HEADS, length, memory)}


def make_data(path, make_inputs, sizes):
    session = onnxruntime.InferenceSession(path)
    names, data = [output.name for output in session.get_outputs()], {}
    for index, given in enumerate(sizes):
        inputs = make_inputs(*given)
        data |= {f"{index}.in.{name}": x for name, x in inputs.items()}
        for name, x in zip(names, session.run(None, inputs), strict=True):
            data[f"{index}.out.{name}"] = x
            data[f"{index}.plain.{name}"] = 8 * EPS * np.abs(x).max()
    return data


def main():
    # Behind a past, several rows are of one batch; at first there is none.
    for name, make, make_inputs, sizes in (
            ("bert", make_encoder, make_encoder_inputs, [(2, 5), (3, 7)]),
            ("cached", make_decoder, make_decoder_inputs, [(1, 3), (3, 1), (2, 4, 0)]),
            ("cross", make_cross, make_cross_inputs, [(2, 5), (3, 7)])):
        path = HERE / f"{name}.ort.dynamic.onnx"
        make(path)
        np.savez_compressed(HERE / f"{name}.npz", **make_data(path, make_inputs, sizes))


if __name__ == "__main__":
    main()
