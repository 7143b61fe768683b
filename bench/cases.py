"""The work that is timed, as data: add a line to add a row."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    q_len: int
    head_dim: int
    mask: str = ""  # the short form of attn.mask
    kv_len: int = 0  # q_len when 0
    kv_heads: int = 0  # heads when 0

    @property
    def keys(self):
        return self.kv_len or self.q_len

    @property
    def key_heads(self):
        return self.kv_heads or self.heads

    @property
    def name(self):
        sizes = f"({self.batch},{self.heads},{self.q_len},{self.head_dim})"
        if self.kv_len:
            sizes += f" keys {self.kv_len}"
        if self.kv_heads:
            sizes += f" kv_heads {self.kv_heads}"
        return f"{self.mask} {sizes}".strip()

    @property
    def shapes(self):
        return {
            "query": (self.batch, self.heads, self.q_len, self.head_dim),
            "key": (self.batch, self.key_heads, self.keys, self.head_dim),
            "value": (self.batch, self.key_heads, self.keys, self.head_dim),
            "context": (self.batch, self.heads, self.q_len, self.head_dim),
        }

    def visible(self):
        """[q_len, keys] booleans, or None without a mask."""
        q, k = np.ogrid[: self.q_len, : self.keys]
        if not self.mask:
            return None
        return {"causal(top_left)": k <= q, "causal(bottom_right)": k <= q + self.keys - self.q_len}[self.mask]

    @property
    def flops(self):
        """Of both products, over the visible pairs."""
        seen = self.visible()
        pairs = self.q_len * self.keys if seen is None else int(np.count_nonzero(seen))
        return 4 * self.batch * self.heads * pairs * self.head_dim

    @property
    def spec(self):
        """The text of the case in the attn dialect, all sizes fixed."""
        tensor = lambda shape: f"tensor<{'x'.join(map(str, shape))}xf32>"
        query, key, value, context = (tensor(s) for s in self.shapes.values())
        score = tensor((self.batch, self.heads, self.q_len, self.keys))
        mask = f"%masked = attn.mask %score {self.mask} : {score}" if self.mask else ""
        return f"""
func.func @kernel(%query: {query}, %key: {key}, %value: {value}) -> {context} {{
  %score = attn.score %query, %key scale({self.head_dim**-0.5!r}) : {query}, {key} -> {score}
  {mask}
  %prob = attn.softmax %{'masked' if mask else 'score'} : {score}
  %context = attn.context %prob, %value : {score}, {value} -> {context}
  return %context : {context}
}}
"""


CASES = [
    Case(1, 8, 512, 64),
    Case(1, 8, 2048, 64),
    Case(1, 8, 2048, 64, "causal(top_left)"),
]
