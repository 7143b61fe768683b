"""The examples of python/README.md that need nothing but numpy, run one after the other."""

import os
import re
import tempfile
import unittest

import numpy as np

from test_attention import check, expect


class ReadmeTest(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(os.path.dirname(__file__), "..", "README.md")) as file:
            section = file.read().split("## Attention with lambdas")[1].split("\n## ")[0]
        self.examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_examples(self):
        names, (alibi, documents, table) = {}, self.examples
        exec(alibi, names)
        inputs, slope = [names[name] for name in ("query", "key", "value")], names["slope"]
        causal = lambda b, h, q, k: q >= k
        check(names["context"], expect(*inputs, lambda s, b, h, q, k: s - slope[h] * (q - k), causal)[0])
        exec(documents, names)
        ids = names["document"]
        expected = expect(*inputs, mask=lambda b, h, q, k: (q >= k) & (ids[b, q] == ids[b, k]) | (k < 4))
        check(names["context"], expected[0])
        check(names["lse"], expected[1])
        exec(table, names)
        self.assertTrue({"libbiased.a", "biased.h", "biased.mlir"} <= set(os.listdir("out")))


if __name__ == "__main__":
    unittest.main()
