"""Checks the sizes of query, key and value, and of the arrays beside them."""

from ._elements import check_device, describe
from ._spec import find_direct_reads

_EQUAL = (("key", 0, "query"), ("key", 3, "query"), ("value", 0, "key"), ("value", 1, "key"), ("value", 2, "key"))


class Sizes:
    def __init__(self, shapes):
        self.batch, self.heads, self.q_len, self.head_dim = shapes["query"]
        self.kv_heads, self.kv_len = shapes["key"][1:3]
        self.value_dim = shapes["value"][3]
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        for name, axis, other in _EQUAL:
            if shapes[name][axis] != shapes[other][axis]:
                raise ValueError(f"{name}: expected dim {axis} to be {shapes[other][axis]} as in {other}, found {shown}")
        if not self.kv_heads or not self.heads or self.heads % self.kv_heads:
            raise ValueError(f"key: expected a number of heads that divides query's, found {shown}")
        if not self.head_dim or not self.value_dim:
            raise ValueError(f"query: expected head_dim and value_dim above 0, found {shown}")

    def check_lengths(self, lengths):
        """Their element type."""
        shape, element = describe("kv_lengths", lengths)
        check_device("kv_lengths", lengths)
        if element not in ("i32", "i64"):
            raise TypeError(f"kv_lengths: expected i32 or i64, found {element}")
        if shape != (self.batch,):
            raise ValueError(f"kv_lengths: expected shape {(self.batch,)}, the batch of query, found {shape}")
        return element

    def check_sink(self, sink, element):
        """Its dims as a spec has them."""
        shape, found = describe("sink", sink)
        check_device("sink", sink)
        if found != element:
            raise TypeError(f"sink: expected {element} as in query, found {found}")
        if shape == (self.heads,):
            return shape
        whole = (self.batch, self.heads, self.q_len)
        if len(shape) != 3 or any(size not in (1, most) for size, most in zip(shape, whole)):
            raise ValueError(f"sink: expected shape {(self.heads,)}, or {whole} with 1 where all share it, found {shape}")
        return tuple(1 if size == 1 else dim for size, dim in zip(shape, ("batch", self.heads, "q_len")))

    def check_captured(self, attention):
        """Checks that arrays indexed by a position are long enough."""
        positions = {"b": self.batch, "h": self.heads, "q": self.q_len, "k": self.kv_len}
        for array, axis, position in find_direct_reads(attention):
            if array.sizes[axis] < positions[position]:
                raise ValueError(f"{array.name}: expected dim {axis}, which {position} indexes, to be at least "
                                 f"{positions[position]}, found shape {array.sizes}")
