"""Attention of transformers models.

    attnc.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="attnc")
"""

import functools
import inspect
import sys

import torch

from ._attention import build, find_q_len, get_kernel
from ._captured import Array
from ._elements import FLOATS, short_name
from ._fallback import warn_once
from ._model_mask import Mask, make_mask
from ._of_torch import ready
from ._values import POSITIONS, SCORE

# What the eager attention of a model may take, and this does too.
_KNOWN = {"module", "query", "query_states", "key", "key_states", "value", "value_states", "attention_mask", "scaling",
          "dropout", "softcap", "position_bias", "sliding_window", "kwargs"}


def register():
    """Adds attn_implementation="attnc" to transformers 5. Models run with it on the CPU, without gradients, in f32, bf16,
    f16 and f64: masks are compiled from the functions that they are given as, and kernels once for all batches and
    lengths, caches included: one for decode, and some for prefill, each when it is first called. Where an attention can't
    be served the model's own eager one does it, with one warning that names the reason."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register("attnc", attend)
    AttentionMaskInterface.register("attnc", torch.compiler.disable(make_mask))


@torch.compiler.disable
def attend(module, query, key, value, attention_mask, scaling=None, dropout=0.0, softcap=None, s_aux=None,
           position_bias=None, indices=None, **options):
    """What transformers calls: of query (batch, heads, q_len, head_dim), key and value (batch, kv_heads, kv_len, …) the
    context (batch, q_len, heads, value_dim), and None in place of the probabilities. `attention_mask` is a Mask, a table
    of bools or of what is added to scores, or None; `s_aux` the sinks (heads,); `position_bias` is added to scores;
    `indices` (batch, q_len, n) are the only keys to see."""
    reason = _find_reason(module, query, key, value, attention_mask, s_aux, position_bias, dropout, options)
    if reason:
        return _fall_back(reason, module, query, key, value, attention_mask, scaling=scaling, dropout=dropout,
                          softcap=softcap, s_aux=s_aux, position_bias=position_bias, indices=indices, **options)
    _check_mask(attention_mask, query, key)
    context = query.new_empty(query.shape[0], query.shape[2], query.shape[1], value.shape[3])
    operands = [query, key, value] + ([] if s_aux is None else [s_aux])
    if isinstance(attention_mask, Mask) and position_bias is None and indices is None:
        kernel, captured = _find_masked(operands, attention_mask, scaling, softcap)
    else:
        kernel, captured = _find_kernel(operands, attention_mask, scaling, softcap, position_bias, indices)
    kernel(*map(ready, operands + captured), out=context.transpose(1, 2))
    return context, None


_known = {}  # for a kind of mask and operands the kernel, and the names of the mask's arrays that it reads


def _find_masked(operands, mask, scaling, softcap):
    """The kernel, and what it reads beside its operands. Layers with one mask find that of the first, and masks of one
    structure, as each token brings them, that of the first one."""
    query, key, value = operands[:3]
    dims = query.shape[1], query.shape[3], key.shape[1], value.shape[3]
    kind = scaling, softcap, query.dtype, dims, find_q_len(query.shape[2]), len(operands)
    if kind in mask.kernels:
        return mask.kernels[kind]
    structure = mask.find_structure()
    if (structure, kind) in _known:
        kernel, names = _known[structure, kind]
        found = kernel, [mask.find_arrays()[name] for name in names]
    else:
        found = _find_kernel(operands, mask, scaling, softcap, None, None)
        names = [name for array in found[1] for name, known in mask.find_arrays().items() if array is known]
        if structure is not None and len(names) == len(found[1]):
            _known[structure, kind] = found[0], names
    mask.kernels[kind] = found
    return found


def _find_kernel(operands, mask, scaling, softcap, position_bias, indices):
    """The kernel, and what it reads beside its operands."""
    query, key, value, *sinks = operands
    shape = (*query.shape[:3], key.shape[2])
    visible, score = _read_mask(mask, shape)
    if indices is not None:
        visible = _and(visible, _read("selected", _select(indices, query, key), "bqk"))
    if position_bias is not None:
        added = _read("position_bias", position_bias.expand(shape))
        score = SCORE + added if score is None else score + added
    built, inputs = build(query, key, value, score=score, mask=visible, scale=scaling, softcap=softcap,
                          sink=sinks[0] if sinks else None)
    return get_kernel(built), inputs[len(operands):]


def _select(indices, query, key):
    """Which keys (batch, q_len, kv_len) are among the `indices` (batch, q_len, count) of the keys to visit."""
    selected = torch.zeros(query.shape[0], query.shape[2], key.shape[2], dtype=torch.bool, device=query.device)
    return selected.scatter(-1, indices.long(), True)


def _find_reason(module, query, key, value, mask, sinks, position_bias, dropout, options):
    """Why this attention can't be served; None where it can."""
    if options.get("block_indices") is not None:
        raise NotImplementedError("attnc: expected no block_indices, which only another implementation serves: use "
                                  'attn_implementation="eager"')
    tensors = [x for x in (query, key, value, mask, sinks, position_bias) if x is not None and not isinstance(x, Mask)]
    if not all(x.is_cpu for x in tensors):
        return f"tensors are on {query.device}, kernels on the CPU"
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return "a gradient is asked for: call the model under torch.no_grad()"
    if dropout:
        return f"dropout is {dropout}"
    if options.get("output_attentions"):
        return "the probabilities are asked for (output_attentions)"
    if not query.dtype == key.dtype == value.dtype or short_name(query.dtype) not in FLOATS:
        return f"query, key and value are {query.dtype}, {key.dtype} and {value.dtype}"
    if not query.ndim == key.ndim == value.ndim == 4 or query.shape[0] != key.shape[0] or query.shape[1] % key.shape[1]:
        return f"query has shape {tuple(query.shape)}, key {tuple(key.shape)}"
    if sinks is not None and (sinks.dtype != query.dtype or sinks.shape != query.shape[1:2]):
        return f"sinks are {sinks.dtype} of shape {tuple(sinks.shape)}"
    if sinks is None and getattr(module, "sinks", None) is not None:
        return "the module has sinks that it does not pass"
    unknown = [name for name in _find_unknown(type(module)) if options.get(name) is not None]
    return f"the model's attention takes {', '.join(unknown)}" if unknown else None


def _find_eager(kind):
    return getattr(sys.modules[kind.__module__], "eager_attention_forward", None)


@functools.cache
def _find_unknown(kind):
    """The parameters of the model's own attention that this one doesn't know."""
    eager = _find_eager(kind)
    return tuple(name for name in (inspect.signature(eager).parameters if eager else ()) if name not in _KNOWN)


def _fall_back(reason, module, query, key, value, mask, *, indices, **options):
    warn_once(f"{type(module).__name__} runs the model's own attention: {reason}")
    mask = mask.dense() if isinstance(mask, Mask) else mask
    if indices is not None:
        hidden = ~_select(indices, query, key)[:, None]
        least = torch.zeros(hidden.shape, dtype=query.dtype, device=query.device).masked_fill(
            hidden, torch.finfo(query.dtype).min)
        mask = least if mask is None else mask.masked_fill(hidden, torch.finfo(query.dtype).min)
    eager = _find_eager(type(module))
    if eager is None and options.get("s_aux") is not None:
        raise NotImplementedError(f"attnc: expected an attention with sinks to serve in place, but {reason}")
    if eager is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward as eager
    return eager(module, query, key, value, mask, **{name: x for name, x in options.items() if x is not None})


def _check_mask(mask, query, key):
    """A model may lengthen its keys and not its mask."""
    if mask is None:
        return
    wanted, sizes = (*query.shape[:3], key.shape[2]), mask.sizes if isinstance(mask, Mask) else tuple(mask.shape)
    shared = (1,) if isinstance(mask, Mask) else range(4)
    if len(sizes) != 4 or any(size != most and not (size == 1 and axis in shared)
                              for axis, (size, most) in enumerate(zip(sizes, wanted))):
        raise ValueError(f"attention_mask: expected shape {wanted}, or with 1 where all share it, found {sizes}")


def _read_mask(mask, shape):
    """Which keys are visible, and the score with what the mask adds to it; None for what it doesn't say."""
    if mask is None:
        return None, None
    if isinstance(mask, Mask):
        try:
            return mask.find_visible(), None
        except Exception as error:  # of anybody's function
            warn_once(f"a mask becomes a table of q_len x kv_len: {error}")
            mask = mask.dense() == 0
    table = _read("mask", mask.expand(shape))
    return (table, None) if mask.dtype == torch.bool else (None, SCORE + table)


def _read(name, tensor, positions="bhqk"):
    at = dict(zip("bhqk", POSITIONS))
    return Array(ready(tensor), name)[tuple(at[position] for position in positions)]


def _and(mask, other):
    return other if mask is None else mask & other
