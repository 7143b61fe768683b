"""torch.compile(model, backend="attnc"): attention by attnc, the rest by Inductor."""

import torch
import torch.nn.functional as F
from torch.fx import GraphModule

from . import _encoder_layer, _flex_graph, _sdpa
from ._fallback import warn_once

_REPLACED = {F.scaled_dot_product_attention: _sdpa.scaled_dot_product_attention,
             torch.ops.aten.scaled_dot_product_attention: _sdpa.scaled_dot_product_attention,
             torch.ops.aten.scaled_dot_product_attention.default: _sdpa.scaled_dot_product_attention,
             F.multi_head_attention_forward: _sdpa.multi_head_attention_forward,
             torch._transformer_encoder_layer_fwd: _encoder_layer.transformer_encoder_layer_fwd,
             torch.ops.higher_order.flex_attention: _flex_graph.flex_attention}


def compile_graph(graph, inputs, *, mode=None, options=None, **_):
    """What torch.compile calls, by the entry point of the package. `mode` and `options` are Inductor's."""
    for module in graph.modules():
        if isinstance(module, GraphModule):
            _replace_attention(module)
    if not _find_cxx():
        warn_once("Inductor has no C++ compiler (set CXX, or install g++): all but attention runs as without torch.compile")
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)
    modes = torch._inductor.list_mode_options(mode) if mode else {}
    return torch._inductor.compile(graph, inputs, options={**modes, **(options or {})})


def _replace_attention(graph):
    for node in graph.graph.nodes:
        if node.op != "call_function" or node.target not in _REPLACED:
            continue
        if _has_gradient(node.meta.get("example_value")):
            name = getattr(node.target, "__name__", str(node.target))
            _sdpa.leave(name, "a gradient is asked for, which kernels don't have: call the model under torch.no_grad()")
            continue
        node.target = _REPLACED[node.target]
        if node.target is _flex_graph.flex_attention:
            tables = [x for x in node.args[4][2:6] if x is not None]
            node.update_kwarg("keeps_blocks", all(table.op == "placeholder" for table in tables))
    graph.recompile()


def _has_gradient(result):
    tensors = result if isinstance(result, (tuple, list)) else [result]
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in tensors)


def _find_cxx():
    from torch._inductor import cpp_builder, exc

    try:
        return cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        return None
