"""Writes sentence_encoder.onnx: the graph that PyTorch exports of the sentence encoder,
with batch and length open. Its weights stay in model.safetensors, which lies beside it.

usage: export_onnx.py   (needs torch, onnx and onnxscript)
"""

import json
import os
import struct

import model
import onnx
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, FEED = 384, 1536


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x, visible):
        split = lambda t: t.unflatten(-1, (model.HEADS, WIDTH // model.HEADS)).transpose(1, 2)
        context = F.scaled_dot_product_attention(
            split(self.query(x)), split(self.key(x)), split(self.value(x)), attn_mask=visible
        )
        return context.transpose(1, 2).flatten(2)


class Output(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dense = nn.Linear(width, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x, residual):
        return self.LayerNorm(self.dense(x) + residual)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleDict({"self": SelfAttention(), "output": Output(WIDTH)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, FEED)})
        self.output = Output(FEED)

    def forward(self, x, visible):
        x = self.attention["output"](self.attention["self"](x, visible), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(30522, WIDTH)
        self.position_embeddings = nn.Embedding(512, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, token_ids):
        positions = torch.arange(token_ids.shape[1])
        types = torch.zeros_like(token_ids)
        return self.LayerNorm(
            self.word_embeddings(token_ids)
            + self.position_embeddings(positions)
            + self.token_type_embeddings(types)
        )


class SentenceEncoder(nn.Module):
    """Names of parameters are those of the file of weights."""

    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(model.LAYERS))})

    def forward(self, token_ids, attention_mask):
        x = self.embeddings(token_ids)
        visible = attention_mask.bool()[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, visible)
        kept = attention_mask[:, :, None].to(x.dtype)
        return F.normalize((x * kept).sum(1) / kept.sum(1), dim=-1)


def load(path):
    encoder = SentenceEncoder().eval()
    tensors = {n: torch.from_numpy(t.copy()) for n, t in model.read_safetensors(path).items()}
    encoder.load_state_dict({n: tensors[n] for n in encoder.state_dict()})
    return encoder


def export(encoder):
    inputs = (torch.ones(2, 9, dtype=torch.long), torch.ones(2, 9, dtype=torch.long))
    batch, length = torch.export.Dim("batch"), torch.export.Dim("len", max=512)
    dims = {0: batch, 1: length}
    program = torch.onnx.export(
        encoder,
        inputs,
        input_names=["token_ids", "attention_mask"],
        output_names=["sentence_embedding"],
        dynamic_shapes=(dims, dims),
        dynamo=True,
        optimize=False,  # weights stay as they are in the file
    )
    return program.model_proto


def refer_to(proto, path):
    """Initializers that the file holds become references into it."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    for tensor in proto.graph.initializer:
        if tensor.name not in header:
            continue
        begin, end = header[tensor.name]["data_offsets"]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in [
            ("location", os.path.basename(path)),
            ("offset", 8 + size + begin),
            ("length", end - begin),
        ]:
            tensor.external_data.add(key=key, value=str(value))


def main():
    path = os.path.join(model.folder(), "model.safetensors")
    proto = export(load(path))
    refer_to(proto, path)
    # Stack traces and the like are of no use here.
    for node in proto.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    for value in [*proto.graph.value_info, *proto.graph.input, *proto.graph.output]:
        value.ClearField("metadata_props")
    with open(os.path.join(HERE, "sentence_encoder.onnx"), "wb") as file:
        file.write(proto.SerializeToString())


if __name__ == "__main__":
    main()
