"""Prints a graph as MLIR."""

from graph import FLOATS, Tensor

HEX = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80", "f64": "0xFFF0000000000000"}


class Printer:
    def __init__(self, graph, narrows):
        self.graph, self.count, self.narrows = graph, 0, narrows

    # Types.

    def type(self, dims, element):
        texts = ["?" if dim in self.graph.open else str(self.graph.size(dim)) for dim in dims]
        return f"tensor<{'x'.join(texts + [element])}>"

    def of(self, *tensors):
        return ", ".join(self.type(t.dims, t.element) for t in tensors)

    def described(self, tensor, name):
        dims = [f'"{dim}"' if dim in self.graph.open else str(self.graph.size(dim)) for dim in tensor.dims]
        return f'{self.of(tensor)} {{attn.name = "{name}", attn.dims = [{", ".join(dims)}]}}'

    # Regions.

    def fresh(self):
        self.count += 1
        return f"%s{self.count}"

    def scalars(self, region, tail, indent="    "):
        """The lines of a region, the names of its parameters first."""
        names, lines = {}, []
        for parameter in region.parameters:
            names[parameter] = self.fresh()
        result = self.scalar(region.result, names, lines)
        head = ", ".join(f"{names[p]}: {p.type}" for p in region.parameters)
        lines.append(f"{tail} {result} : {region.result.type}")
        return f"{{\n  ^bb0({head}):\n{indent}" + f"\n{indent}".join(lines) + "\n  }"

    def scalar(self, scalar, names, lines):
        if scalar not in names:
            operands = [self.scalar(operand, names, lines) for operand in scalar.operands]
            text = self.scalar_op(scalar, operands, lines)
            names[scalar] = self.fresh()
            lines.append(f"{names[scalar]} = {text}")
        return names[scalar]

    def scalar_op(self, s, operands, lines):
        if s.op == "arith.constant":
            return f"arith.constant {self.number(s.attribute, s.type)}" + ("" if s.type == "i1" else f" : {s.type}")
        if s.op == "tensor.extract":
            return f"tensor.extract %{s.attribute.name}[{', '.join(operands)}] : {self.of(s.attribute)}"
        if s.op == "tensor.dim":
            tensor, dim = s.attribute
            at = self.fresh()
            lines.append(f"{at} = arith.constant {dim} : index")
            return f"tensor.dim %{tensor.name}, {at} : {self.of(tensor)}"
        if s.op in ("arith.cmpi", "arith.cmpf"):
            return f"{s.op} {s.attribute}, {', '.join(operands)} : {s.operands[0].type}"
        operand = s.operands[-1].type
        types = operand if operand == s.type or s.op.startswith("math.is") else f"{operand} to {s.type}"
        return f"{s.op} {', '.join(operands)} : {types}"

    def number(self, value, type):
        if type == "i1":
            return "true" if value else "false"
        if type not in FLOATS:
            return str(value)
        return HEX[type] if value == float("-inf") else f"{value:.6e}"

    # Ops.

    def size(self, dim, tensor, lines):
        """A dimension of `tensor` as ops take it."""
        if dim not in self.graph.open:
            return str(self.graph.size(dim))
        at, size = self.fresh(), self.fresh()
        lines.append(f"{at} = arith.constant {tensor.dims.index(dim)} : index")
        lines.append(f"{size} = tensor.dim %{tensor.name}, {at} : {self.of(tensor)}")
        return size

    def op(self, op, lines):
        names = ", ".join("%" + operand.name for operand in op.operands)
        types, result = self.of(*op.operands), self.of(*op.results)
        results = ", ".join("%" + r.name for r in op.results)
        text = getattr(self, "print_" + op.kind.split(".")[-1], self.print_plain)(op, names, types, result, lines)
        lines.append(f"{results} = {text}")

    def print_plain(self, op, names, types, result, lines):
        """Any elementwise op on tensors, and those of the attn dialect that have no attributes."""
        if op.kind.startswith(("arith.", "math.")):
            return f"{op.kind} {names} : {result}"
        return f"{op.kind} {names} : {types} -> {result}"

    def print_score(self, op, names, types, result, lines):
        scale = op.attributes["scale"]
        return f"attn.score {names}{'' if scale == 1 else f' scale({scale})'} : {types} -> {result}"

    def print_modify_score(self, op, names, types, result, lines):
        return f"{op.kind} {names} {self.scalars(op.regions[0], 'attn.yield')} : {result}"

    print_modify_prob = print_modify_score

    def print_mask(self, op, names, types, result, lines):
        if op.regions:
            return self.print_modify_score(op, names, types, result, lines)
        forms = []
        for form, numbers, tensors in op.attributes["forms"]:
            reads = [f"{', '.join('%' + t.name for t in tensors)} : {self.of(*tensors)}"] if tensors else []
            forms.append(f"{form}({', '.join([*map(str, numbers), *reads])})")
        return f"attn.mask %{op.operands[0].name} {' '.join(forms)} : {result}"

    def print_softmax(self, op, names, types, result, lines):
        score, *sink = op.operands
        axis = op.attributes["axis"]
        text = f" sink(%{sink[0].name} : {self.of(sink[0])})" if sink else ""
        text += "" if axis is None else f" axis({axis})"
        return f"attn.softmax %{score.name}{text} : {result}"

    def print_attention(self, op, names, types, result, lines):
        a, regions = op.attributes, iter(op.regions)
        operands = op.operands[:3]
        text = f" scale({a['scale']})" if a["scale"] != 1 else ""
        if len(op.operands) == 4:
            text += f" sink(%{op.operands[3].name} : {self.of(op.operands[3])})"
        for part in ("score_mod", "mask", "prob_mod"):
            if a[part]:
                text += f" {part} {self.scalars(next(regions), 'attn.yield')}"
        return (f"attn.attention {', '.join('%' + o.name for o in operands)}{text} : {self.of(*operands)} -> "
                f"{result}")

    def print_merge(self, op, names, types, result, lines):
        return f"attn.merge {names} : {self.of(*op.operands[:2])}"

    def print_split_heads(self, op, names, types, result, lines):
        heads = f" num_heads({self.graph.size(op.attributes['heads'])})" if op.kind == "attn.split_heads" else ""
        layout = " layout(time_first)" if op.attributes["time_first"] else ""
        return f"{op.kind} {names}{heads}{layout} : {types} -> {result}"

    print_merge_heads = print_split_heads

    def print_map(self, op, names, types, result, lines):
        return f"attn.map {names} {self.scalars(op.regions[0], 'attn.yield')} : {types} -> {result}"

    def print_reduce(self, op, names, types, result, lines):
        a = op.attributes
        keep = " keep_dims" if a["keep_dims"] else ""
        return f"attn.reduce {a['which']} {names} axes {a['axes']}{keep} : {types} -> {result}"

    def print_transpose(self, op, names, types, result, lines):
        return f"attn.transpose {names} {op.attributes['order']} : {types} -> {result}"

    def print_layer_norm(self, op, names, types, result, lines):
        x, *rows = op.operands
        text = " mode(rms)" if op.attributes["mode"] == "rms" else ""
        for name, row in zip(op.attributes["rows"], rows):
            text += f" {name}(%{row.name} : {self.of(row)})"
        return f"attn.layer_norm %{x.name}{text} epsilon({op.attributes['epsilon']}) : {result}"

    def print_positions(self, op, names, types, result, lines):
        x, *offset = op.operands
        base = "" if op.attributes["base"] == 10000 else f" base({op.attributes['base']:.1f})"
        base += f" offset(%{offset[0].name} : {self.of(offset[0])})" if offset else ""
        return f"attn.positions %{x.name} kind({op.attributes['which']}){base} : {result}"

    def print_append_cache(self, op, names, types, result, lines):
        return f"attn.append_cache {names} : {types}"

    def print_dropout(self, op, names, types, result, lines):
        x, *seed = op.operands
        text = f" seed(%{seed[0].name} : {self.of(seed[0])})" if seed else ""
        return f"attn.dropout %{x.name} rate({op.attributes['rate']}){text} : {result}"

    def print_concat(self, op, names, types, result, lines):
        return f"tensor.concat dim({op.attributes['dim']}) {names} : ({types}) -> {result}"

    def slice_text(self, op, tensor, lines):
        a = op.attributes
        sizes = [self.size(dim, tensor, lines) for dim in a["sizes"]]
        return f"{a['offsets']} [{', '.join(sizes)}] {a['strides']}"

    def print_extract_slice(self, op, names, types, result, lines):
        return f"tensor.extract_slice {names}{self.slice_text(op, op.operands[0], lines)} : {types} to {result}"

    def print_insert_slice(self, op, names, types, result, lines):
        source, whole = op.operands
        return (f"tensor.insert_slice %{source.name} into %{whole.name}{self.slice_text(op, source, lines)} : "
                f"{self.of(source)} into {result}")

    def print_pad(self, op, names, types, result, lines):
        a = op.attributes
        region = self.scalars(op.regions[0], "tensor.yield")
        return f"tensor.pad {names} low{a['low']} high{a['high']} {region} : {types} to {result}"

    def print_expand_shape(self, op, names, types, result, lines):
        sizes = [self.size(dim, op.operands[0], lines) for dim in op.results[0].dims]
        return (f"tensor.expand_shape {names} {op.attributes['groups']} output_shape [{', '.join(sizes)}] : "
                f"{types} into {result}")

    def print_collapse_shape(self, op, names, types, result, lines):
        return f"tensor.collapse_shape {names} {op.attributes['groups']} : {types} into {result}"

    def print_reshape(self, op, names, types, result, lines):
        sizes, shape = [], self.fresh()
        for dim in op.results[0].dims:
            text = self.size(dim, op.operands[0], lines)
            if not text.startswith("%"):
                sizes.append(self.fresh())
                lines.append(f"{sizes[-1]} = arith.constant {text} : index")
            else:
                sizes.append(text)
        kind = f"tensor<{len(sizes)}xindex>"
        lines.append(f"{shape} = tensor.from_elements {', '.join(sizes)} : {kind}")
        return f"tensor.reshape {names}({shape}) : ({types}, {kind}) -> {result}"

    def print_splat(self, op, names, types, result, lines):
        value = self.fresh()
        element = op.results[0].element
        lines.append(f"{value} = arith.constant {self.number(op.attributes['value'], element)} : {element}")
        sizes = self.open_sizes(op, lines)
        return f"tensor.splat {value}{f'[{sizes}]' if sizes else ''} : {result}"

    def print_generate(self, op, names, types, result, lines):
        sizes = self.open_sizes(op, lines)
        return f"tensor.generate {sizes} {self.scalars(op.regions[0], 'tensor.yield')} : {result}"

    def open_sizes(self, op, lines):
        like = op.attributes["like"]
        return ", ".join(self.size(dim, like, lines) for dim in op.results[0].dims if dim in self.graph.open)

    def print_dense(self, op, names, types, result, lines):
        values = "[" + ", ".join(self.number(v, op.results[0].element) for v in op.attributes["values"]) + "]"
        return f"arith.constant dense<{values}> : {result}"

    def print_select(self, op, names, types, result, lines):
        return f"arith.select {names} : {self.of(op.operands[0])}, {result}"

    def print_call(self, op, names, types, result, lines):
        return f"call @{op.attributes['callee']}({names}) : ({types}) -> {result}"

    # The whole.

    def function(self, name, arguments, ops, results, *, private=False):
        lines = []
        if not private:
            arguments = [self.narrowed(argument, lines) for argument in arguments]
        for op in ops:
            self.op(op, lines)
        lines.append(f"return {', '.join('%' + r.name for r in results)} : {self.of(*results)}")
        heads = [f"%{t.name}: {self.of(t) if private else self.described(t, t.name)}" for t in arguments]
        types = [self.of(r) if private else self.described(r, f"out{i}") for i, r in enumerate(results)]
        return (f"func.func {'private ' if private else ''}@{name}({', '.join(heads)}) -> ({', '.join(types)}) {{\n  "
                + "\n  ".join(lines) + "\n}\n")


    def narrowed(self, argument, lines):
        """A bf16 argument as one of f32, if asked for."""
        if not self.narrows or argument.element != "bf16":
            return argument
        wide = Tensor(argument.name + "_f32", argument.dims, "f32")
        lines.append(f"%{argument.name} = arith.truncf %{wide.name} : {self.of(wide)} to {self.of(argument)}")
        return wide


def text(graph, *, narrows=False):
    """`narrows` makes arguments of bf16, which numpy's files don't hold, from f32."""
    printer = Printer(graph, narrows)
    arguments = [argument.tensor for argument in graph.arguments]
    parts = [printer.function("fuzz", arguments, graph.ops, graph.results)]
    for name, parameters, ops, results in graph.functions:
        parts.append(printer.function(name, parameters, ops, results, private=True))
    return "".join(parts)
