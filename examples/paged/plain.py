import numpy as np
from check import context, score, softmax

PAGE = 16


def inputs(rng):
    kv_len = np.array([150, 33, 20, 96], np.int32)
    pages = iter(rng.permutation(40))
    table = np.full((4, 10), -1, np.int32)
    for sequence, length in enumerate(kv_len):
        for entry in range(-(-length // PAGE)):
            table[sequence, entry] = next(pages)
    return {
        "query": rng.standard_normal((4, 8, 20, 64)),
        "key_pages": rng.standard_normal((40, PAGE, 2, 64)),
        "value_pages": rng.standard_normal((40, PAGE, 2, 64)),
        "block_table": table,
        "kv_len": kv_len,
    }


def gather(pages, table):
    rows = pages[np.maximum(table, 0)]  # batch, max_pages, PAGE, heads, width
    return rows.reshape(len(table), -1, *pages.shape[2:]).swapaxes(1, 2)


def outputs(query, key_pages, value_pages, block_table, kv_len):
    s = score(query, gather(key_pages, block_table)) * 0.125
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    visible = k <= q + kv_len[:, None, None, None] - s.shape[2]
    return {"context": context(softmax(np.where(visible, s, -np.inf)), gather(value_pages, block_table))}
