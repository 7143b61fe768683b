"""Draws what an attention reads: tensors in some layout, projected, embedded or cached."""

from layers import Layers


class Operands(Layers):
    def operand(self, name, batch, heads, length, width):
        """A tensor (batch, heads, length, width) from some other layout."""
        dims, g = (batch, heads, length, width), self.graph
        rows = g.size(heads) * g.size(width)
        layout = self.choose(["heads", "heads", "rows", "time", "transposed", "columns", "projected", "embedded",
                              "sliced", "joined", "matrix", "dropped"])
        if layout == "heads":
            return self.argument(name, dims)
        if layout == "matrix" and g.most(batch) == g.least(batch) == g.size(heads) == 1 and batch not in g.open:
            x = self.argument(name, (length, width))
            return self.emit("tensor.expand_shape", [x], dims, groups=[[0, 1, 2], [3]])
        if layout == "columns":
            return self.transpose(self.argument(name, (batch, heads, width, length)), [0, 1, 3, 2])
        if layout == "transposed":
            return self.transpose(self.argument(name, (batch, length, heads, width)), [0, 2, 1, 3])
        has_elements = all(dim in g.open or g.size(dim) for dim in dims)
        if layout == "sliced" and has_elements:
            stride, first = self.choose([1, 1, 2]), self.random.randint(0, 3)
            x = self.argument(name, dims[:3] + (first + stride * width,))
            return self.emit("tensor.extract_slice", [x], dims, sizes=dims, offsets=[0, 0, 0, first],
                             strides=[1, 1, 1, stride])
        if layout == "dropped" and has_elements:  # one of three tensors that lie in one
            x = self.argument(name, (3,) + dims)
            return self.emit("tensor.extract_slice", [x], dims, sizes=(1,) + dims,
                             offsets=[self.random.randint(0, 2), 0, 0, 0, 0], strides=[1] * 5)
        if layout == "joined" and width % 2 == 0:
            half = dims[:3] + (width // 2,)
            return self.emit("tensor.concat", [self.argument(name, half), self.argument(name, half)], dims, dim=3)
        return self.split(name, layout, dims, rows)

    def split(self, name, layout, dims, rows):
        batch, heads, length, _ = dims
        outer = (length, batch) if layout == "time" else (batch, length)
        if layout == "projected":
            x = self.linear(self.argument(name, outer + (self.choose([8, 33, 150]),)), rows)
        elif layout == "embedded":
            table = self.argument(name, (50, rows))
            ids = self.argument("ids", outer, self.choose(["i32", "i64"]), low=0, high=49)
            x = self.emit("attn.embedding", [table, ids], outer + (rows,))
        else:
            x = self.argument(name, outer + (rows,))
        if self.chance(0.25):
            x = self.change(x)
        return self.emit("attn.split_heads", [x], dims, heads=heads, time_first=layout == "time")

    def cached(self, name, batch, heads, new, room, width, past):
        """A cache with new rows behind those that it holds; most are results."""
        cache = self.argument("cache", (batch, heads, room, width))
        rows = self.operand(name, batch, heads, new, width)
        if name == "key" and self.chance(0.3):
            rows = self.position(rows, past)
        x = self.same("attn.append_cache", [cache, rows, past])
        if self.chance(0.8):
            self.graph.results.append(x)
        return x
