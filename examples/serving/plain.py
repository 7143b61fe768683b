import numpy as np
from check import context, score, softmax

PAGE = 16


def inputs(rng):
    # Two decode, one has a chunk of its prompt, one has nothing in this step, one begins.
    past, rows = np.array([130, 13, 40, 76, 0], np.int32), [1, 1, 21, 0, 17]
    pages = iter(rng.permutation(40))
    table = np.full((5, 10), -1, np.int32)
    for entries, length in zip(table, past + rows):
        count = -(-length // PAGE)
        entries[:count] = [next(pages) for _ in range(count)]
    total = sum(rows)
    return {
        "query": rng.standard_normal((total, 9, 64)),
        "key": rng.standard_normal((total, 3, 64)),
        "value": rng.standard_normal((total, 3, 64)),
        "offsets": np.cumsum([0, *rows]).astype(np.int32),
        "past": past,
        "block_table": table,
        "key_pages": rng.integers(-127, 128, (40, 3, PAGE, 64)).astype(np.int8),
        "key_scales": rng.random((40, 3, PAGE, 1)) / 50,
        "value_pages": rng.integers(-127, 128, (40, 3, PAGE, 64)).astype(np.int8),
        "value_scales": rng.random((40, 3, PAGE, 1)) / 50,
    }


def quantize(rows):
    """In 8 bits, and a scale for each row."""
    rows = rows.astype(np.float32)
    scales = np.abs(rows).max(-1, keepdims=True) / np.float32(127)
    return np.rint(rows / np.where(scales == 0, 1, scales)).astype(np.int8), scales


def append(pages, rows, offsets, past, table):
    result = pages.copy()
    for entries, first, end, before in zip(table, offsets, offsets[1:], past):
        for row in range(first, end):
            token = before + row - first
            result[entries[token // PAGE], :, token % PAGE] = rows[row]
    return result


def gather(pages, entries, length):
    """The first rows of a sequence, [1, heads, length, width]."""
    rows = pages[entries[: -(-length // PAGE)]].swapaxes(0, 1)
    return rows.reshape(1, len(rows), -1, rows.shape[3])[:, :, :length]


def attend(query, keys, values):
    """The last rows of a sequence over its keys."""
    s = score(query, keys) * 0.125
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    prob = softmax(np.where(k <= q + s.shape[3] - s.shape[2], s, -np.inf).astype(s.dtype))
    return context(prob, values)


def outputs(query, key, value, offsets, past, block_table, **pools):
    results = {"context": np.zeros_like(query)}
    for name, rows in (("key", key), ("value", value)):
        for part, new in zip(("pages", "scales"), quantize(rows)):
            pool = pools[f"{name}_{part}"]
            results[f"next_{name}_{part}"] = append(pool, new, offsets, past, block_table)
    for entries, first, end, before in zip(block_table, offsets, offsets[1:], past):
        length = before + end - first
        keys, values = (gather(results[f"next_{name}_pages"], entries, length).astype(query.dtype)
                        * gather(results[f"next_{name}_scales"], entries, length) for name in ("key", "value"))
        rows = query[first:end].swapaxes(0, 1)[None]
        results["context"][first:end] = attend(rows, keys, values)[0].swapaxes(0, 1)
    return results
