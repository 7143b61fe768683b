"""What score, mask, softmax and context compute, by the formulas of their descriptions."""

import numpy as np


class AttentionOps:
    def heads(self, shared, count):
        return np.repeat(shared, count // shared.shape[1], axis=1)

    def score(self, op, query, key):
        key = self.heads(key, query.shape[1])
        product = self.hold(self.a.product(query, np.swapaxes(key, -1, -2)), op)
        return self.hold(product * self.a.work(op.results[0].element)(op.attributes["scale"]), op)

    def additive_score(self, op, query, key, weight):
        key = self.heads(key, query.shape[1])
        bent = self.hold(np.tanh(query[:, :, :, None] + key[:, :, None]), op)
        return self.a.product(bent, weight[:, None])[..., 0]

    def modify_score(self, op, x):
        y = self.over(op.regions[0], x.shape, x)
        hidden = self.hidden.get(op.operands[0], False)
        self.hidden[op.results[0]] = hidden
        return np.where(hidden & (x == -np.inf) & np.isnan(y), -np.inf, y)

    def modify_prob(self, op, x):
        y = self.over(op.regions[0], x.shape, x)
        return np.where((x == 0) & np.isnan(y), 0, y)

    def mask(self, op, x, *tensors):
        visible = self.over(op.regions[0], x.shape) if op.regions else np.ones(x.shape, bool)
        for form, numbers, reads in () if op.regions else op.attributes["forms"]:
            visible = visible & self.form(form, numbers, [self.values[t] for t in reads], x.shape)
        self.hidden[op.results[0]] = self.hidden.get(op.operands[0], False) | ~visible
        return np.where(visible, x, -np.inf)

    def form(self, form, numbers, reads, shape):
        _, _, q, k = self.places(shape)
        of_batch = [n.reshape(-1, 1, 1, 1) if n.ndim == 1 else n for n in reads]
        if numbers and numbers[-1] == "bottom_right":
            q = q + shape[3] - shape[2]
        if form == "causal":
            return k <= q
        if form == "window":
            return (-numbers[0] <= k - q) & (k - q <= numbers[1])
        if form == "block":
            return q // numbers[0] == k // numbers[0]
        if form == "kv_lengths":
            return k < of_batch[0]
        if form == "prefix":
            return (k <= q) | (k < of_batch[0])
        if form == "documents":
            ours, theirs = reads[0], reads[-1]
            return ours[:, None, :, None] == theirs[:, None, None, :]
        return reads[0]  # a tensor

    def weights(self, x, axis, sink=None):
        """exp(score - max), the maximum and the sum along an axis."""
        rest = np.where(np.isnan(x), -np.inf, x)
        top = np.max(rest, axis=axis, keepdims=True, initial=-np.inf)
        if sink is not None:
            top = np.maximum(top, np.where(np.isnan(sink), -np.inf, sink))
        top = np.where(top == -np.inf, 0, top).astype(x.dtype)
        weights = np.where(x == -np.inf, 0, np.exp(x - top))
        total = self.a.sum(weights, axis, keepdims=True)
        if sink is not None:
            total = total + np.where(sink == -np.inf, 0, np.exp(sink - top))
        return weights, top, total

    def softmax(self, op, x, *sink):
        axis = -1 if op.attributes["axis"] is None else op.attributes["axis"]
        weights, _, total = self.weights(x, axis, sink[0][..., None] if sink else None)
        return np.where(x == -np.inf, 0, weights / total)

    def lse(self, op, x):
        x = x.astype(self.a.work(op.results[0].element))
        _, top, total = self.weights(x, -1)
        result = (top + np.log(total))[..., 0]
        infinite = np.any(x == np.inf, axis=-1) & ~np.any(np.isnan(x), axis=-1)
        return np.where(infinite, np.inf, result)

    def context(self, op, prob, value):
        value = self.heads(value, prob.shape[1])
        if np.isfinite(value).all() and np.isfinite(prob).all():
            return self.a.product(prob, value)
        result = np.zeros((*prob.shape[:3], value.shape[3]), prob.dtype)
        for batch, head in np.ndindex(prob.shape[:2]):
            p = prob[batch, head, :, :, None]
            terms = np.where(p == 0, 0, p * value[batch, head])
            result[batch, head] = self.a.sum(terms, 1)
        return result

    def merge(self, op, context_a, lse_a, context_b, lse_b):
        """In the longer type of the two."""
        a, b = (lse.astype(np.result_type(lse, context_a)) for lse in (lse_a, lse_b))
        top = np.maximum(a, b)
        parts = np.stack([np.exp(a - top), np.exp(b - top)])
        total = parts.sum(0)
        terms = [np.where(part == 0, 0, part * context)
                 for part, context in zip(parts[..., None], (context_a, context_b))]
        only_a, only_b, infinite = b == -np.inf, a == -np.inf, (top == np.inf)
        lse = np.where(infinite, np.inf, top + np.log(total))
        lse = np.where(only_a, a, np.where(only_b, b, lse))
        context = np.where(only_b[..., None], context_b, (terms[0] + terms[1]) / total[..., None])
        context = np.where(only_a[..., None], np.where(only_b[..., None], 0, context_a), context)
        return context, lse

    def attention(self, op, query, key, value, *sink):
        a, regions = op.attributes, iter(op.regions)
        x = self.score(op, query, key)
        if a["score_mod"]:
            x = self.hold(self.over(next(regions), x.shape, x), op)
        if a["mask"]:
            x = np.where(self.over(next(regions), x.shape), x, -np.inf).astype(x.dtype)
        weights, _, total = self.weights(x, -1, sink[0][..., None] if sink else None)
        prob = self.hold(np.where(x == -np.inf, 0, weights / total), op)
        if a["prob_mod"]:
            y = self.over(next(regions), prob.shape, prob)
            prob = self.hold(np.where((prob == 0) & np.isnan(y), 0, y), op)
        context = self.context(op, prob, value)
        return (context, self.lse(OfResult(op.results[1]), x)) if len(op.results) == 2 else context


class OfResult:
    """As much of an op as rounding asks for."""

    def __init__(self, result):
        self.results = (result,)
