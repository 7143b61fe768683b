"""The mask of a transformers model: a function of positions, and a table only for who computes with it."""

import torch
from transformers import masking_utils

from ._captured import Array
from ._fallback import warn_once
from ._of_torch import ReadTraced
from ._structure import find_structure
from ._trace import check_result
from ._values import MOST_POSITION, POSITIONS, constant, convert, resolve


def make_mask(batch_size, q_length, kv_length, q_offset=0, kv_offset=0, mask_function=masking_utils.causal_mask_function,
              attention_mask=None, allow_is_bidirectional_skip=False, local_size=None, dtype=torch.float32, device="cpu",
              **options):
    """What transformers calls for a mask (batch, 1, q_length, kv_length)."""
    padding = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    padding = None if padding is None or padding.all() else padding
    if allow_is_bidirectional_skip and padding is None and local_size is None:
        return None
    request = dict(options, batch_size=batch_size, q_length=q_length, kv_length=kv_length, q_offset=q_offset,
                   kv_offset=kv_offset, mask_function=mask_function, attention_mask=attention_mask, dtype=dtype,
                   device=device)
    # Caches count on in their tensors.
    request |= {name: request[name].clone() for name in ("q_offset", "kv_offset") if isinstance(request[name], torch.Tensor)}
    if torch.device(device).type != "cpu":
        return masking_utils.eager_mask(**request)
    return Mask((batch_size, 1, q_length, kv_length), request, padding, (slice(None),) * 4)


class Mask(torch.Tensor):
    """A tensor that is not there: the model passes it on, or takes a part of its rows and columns. Any other
    function of it gets the table that eager attention has. `part` is what has been taken of `request`'s."""

    @staticmethod
    def __new__(cls, shape, request, padding, part):
        mask = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=request["dtype"], device=request["device"])
        mask.sizes, mask.request, mask.padding, mask.part = shape, request, padding, part
        mask.visible, mask.table, mask.arrays, mask.kernels = None, None, None, {}
        return mask

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in _PASSED:
            return super().__torch_function__(function, types, args, kwargs)
        if function in (torch.Tensor.contiguous, torch.Tensor.detach) and isinstance(args[0], Mask):
            return args[0]
        if function is torch.Tensor.__getitem__ and isinstance(args[0], Mask):
            if (part := args[0].cut(args[1])) is not None:
                return part
        name = getattr(function, "__name__", str(function))
        if name == "__setitem__" or name.endswith("_") and not name.endswith("__") or kwargs.get("out") is not None:
            raise NotImplementedError(f"attnc: expected no change of a mask in place, found {name}: use "
                                      'attn_implementation="eager"')
        warn_once(f"the model computes with its mask ({name}), which becomes a table of q_len x kv_len")
        return function(*map(_make_dense, args), **{key: _make_dense(value) for key, value in kwargs.items()})

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*map(_make_dense, args), **{key: _make_dense(value) for key, value in (kwargs or {}).items()})

    def dense(self):
        """Eager attention's: 0 where a key is visible, the least float elsewhere."""
        if self.table is None:
            self.table = masking_utils.eager_mask(**self.request)[self.part]
        return self.table

    def cut(self, indices):
        """The mask of a range of rows and columns; None where `indices` aren't that."""
        indices = indices if isinstance(indices, tuple) else (indices,)
        whole = slice(None)
        ranges = indices + (whole,) * (4 - len(indices))
        if len(ranges) != 4 or any(not isinstance(each, slice) or each.step not in (None, 1) for each in ranges):
            return None
        if ranges[0] != whole or ranges[1] != whole:
            return None
        taken = [range(size)[each] for size, each in zip(self.sizes, ranges)]
        starts = [at.start or 0 for at in self.part]
        part = tuple(slice(start + rows.start, start + rows.stop) for start, rows in zip(starts, taken))
        return Mask(tuple(map(len, taken)), self.request, self.padding, part)

    def find_arrays(self):
        """What the mask function is given to read, by name. Offsets are arguments: other ones compile nothing."""
        if self.arrays is None:
            self.arrays = {name: torch.as_tensor(self.request[name] + (self.part[axis].start or 0), dtype=torch.int64).reshape(())
                           for name, axis in (("q_offset", 2), ("kv_offset", 3))}
            self.arrays |= {} if self.padding is None else {"padding": self.padding}
        return self.arrays

    def find_structure(self):
        """A key for masks that differ in arrays and sizes alone; None where there is none."""
        structure = find_structure(self.request["mask_function"])
        return None if structure is None else (structure, self.padding is None)

    def find_visible(self):
        """Which keys are visible, as a traced value."""
        if self.visible is None:
            b, _, q, k = POSITIONS
            arrays = {name: Array(array, name) for name, array in self.find_arrays().items()}
            q, k = q + _position(arrays["q_offset"]), k + _position(arrays["kv_offset"])
            function = self.request["mask_function"]

            with ReadTraced():
                visible = function(b, constant(0, "index"), q, k)
                visible = visible & arrays["padding"][b, k] if "padding" in arrays else visible
                self.visible = check_result("mask", function, visible)
        return self.visible


def _position(offset):
    value = offset.element()
    value.low, value.high = 0, MOST_POSITION
    return convert(resolve(value), "index")


def _make_dense(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(_make_dense, value))
    return value.dense() if isinstance(value, Mask) else value


_T = torch.Tensor
_PASSED = {_T.shape.__get__, _T.dtype.__get__, _T.device.__get__, _T.ndim.__get__, _T.layout.__get__,
           _T.requires_grad.__get__, _T.is_cuda.__get__, _T.size, _T.dim, _T.is_floating_point, _T.numel, _T.__len__,
           _T.__hash__, torch.is_floating_point}
