"""The sentence encoder of examples/sentence_encoder as a case: a pretrained model, from token
ids to embeddings. ./dev pins the package with its parameters."""

import dataclasses
import functools
import os
import sys

import numpy as np
from work import Variant

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "sentence_encoder")
sys.path.insert(0, FOLDER)
import model

ONNX = os.path.join(FOLDER, "sentence_encoder.onnx")
WIDTH, FEED, WORDS = 384, 1536, 30522


def is_installed():
    return model.folder() is not None


def weights_path():
    return os.path.join(model.folder(), "model.safetensors")


def read_onnx():
    """The graph that PyTorch exports, with the weights that it refers to."""
    import onnx  # installed with some peers only
    proto = onnx.load(ONNX, load_external_data=False)
    onnx.load_external_data_for_model(proto, os.path.dirname(weights_path()))
    return proto


@functools.cache
def numpy_encoder(dtype):
    return model.Encoder(model.read_safetensors(weights_path()), dtype)


@dataclasses.dataclass(frozen=True)
class Encoder:
    """Sentences of equal length, none of them padded."""

    batch: int
    len: int

    element = "f32"
    variant = Variant("encoder")
    weights = property(lambda self: weights_path())

    @property
    def name(self):
        return f"sentence encoder ({self.batch},{self.len})"

    def inputs(self):
        shape = (self.batch, self.len)
        ids = np.random.default_rng(0).integers(0, WORDS, shape, dtype=np.int64)
        return {"token_ids": ids, "attention_mask": np.ones(shape, np.int64)}

    def is_weight(self, name):
        return False

    def spec(self, arrays):
        """The example's own spec, with dynamic batch and length."""
        with open(os.path.join(FOLDER, "spec.mlir")) as file:
            return file.read()

    def output_shape(self):
        return (self.batch, WIDTH)

    def flops(self, arrays):
        tokens = self.batch * self.len
        linear = 2 * tokens * (4 * WIDTH * WIDTH + 2 * WIDTH * FEED)
        return model.LAYERS * (linear + 4 * tokens * self.len * WIDTH)

    def sample(self, result):
        return result

    def reference(self, arrays, dtype):
        return numpy_encoder(dtype)(**arrays)
