"""Attention modules as people write them in PyTorch, and inputs to call them with.

Each case is a module, its inputs at two sizes, and the names of their open dimensions. They
stand for what is found in the wild, so each is written in its own way: products as matmul,
bmm or einsum, masks as -inf, large negative numbers, booleans or zeros and ones.
"""

import dataclasses
import math
import typing

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Case:
    """`inputs` takes batch, length and a second length, and gives tensors by name; `dims`
    names the dimensions of each input, None where a size is fixed."""

    build: typing.Callable
    inputs: typing.Callable
    dims: dict
    outputs: list


CASES = {}


def add(name, build, inputs, dims, outputs=("out",)):
    CASES[name] = Case(build, inputs, dims, list(outputs))


def randn(*shape):
    return torch.randn(*shape)


def lengths_mask(batch, length):
    """True where a token is; every sequence has one, the last has all."""
    lengths = torch.tensor([1 + (length - 1) * (i + 1) // batch for i in range(batch)])
    return torch.arange(length)[None, :] < lengths[:, None]


WIDTH, HEADS = 16, 2
BATCH, LENGTH, OTHER = "batch", "length", "other"

# 1. Additive and multiplicative attention over the states of an encoder.


class Bilinear(nn.Module):
    def __init__(self, width, on_key):
        super().__init__()
        self.on_key = on_key
        self.project = nn.Linear(width, width)
        self.query, self.value = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, query, key):
        if self.on_key:
            score = torch.bmm(self.project(key), query.unsqueeze(2)).squeeze(2)
        else:
            score = torch.bmm(key, self.project(query).unsqueeze(2)).squeeze(2)
        prob = F.softmax(score, dim=1)
        context = torch.bmm(prob.unsqueeze(1), key).squeeze(1)
        return torch.tanh(self.query(query) + self.value(context)), prob


for on_key in (False, True):
    add("bilinear_key" if on_key else "bilinear_query", lambda on_key=on_key: Bilinear(WIDTH, on_key),
        lambda b, n, m: {"query": randn(b, WIDTH), "key": randn(b, n, WIDTH)},
        {"query": (BATCH, None), "key": (BATCH, LENGTH, None)}, ("out", "prob"))


class Luong(nn.Module):
    """A decoder's state (1, B, H) looks at an encoder's outputs (L, B, E)."""

    def __init__(self, method, hidden, encoder):
        super().__init__()
        self.method = method
        if method == "general":
            self.attn = nn.Linear(encoder, hidden)
        elif method == "concat":
            self.attn = nn.Linear(hidden + encoder, hidden)
            self.v = nn.Parameter(torch.rand(hidden))
        self.concat = nn.Linear(hidden + encoder, hidden)

    def score(self, hidden, encoder_outputs):
        if self.method == "dot":
            return torch.sum(hidden * encoder_outputs, dim=2)
        if self.method == "general":
            return torch.sum(hidden * self.attn(encoder_outputs), dim=2)
        wide = hidden.expand(encoder_outputs.size(0), -1, -1)
        energy = self.attn(torch.cat((wide, encoder_outputs), 2)).tanh()
        return torch.sum(self.v * energy, dim=2)

    def forward(self, hidden, encoder_outputs):
        prob = F.softmax(self.score(hidden, encoder_outputs).t(), dim=1).unsqueeze(1)
        context = prob.bmm(encoder_outputs.transpose(0, 1)).squeeze(1)
        both = torch.cat((context, hidden.squeeze(0)), 1)
        return torch.tanh(self.concat(both)), prob


for method, encoder in (("dot", 12), ("general", 12), ("concat", 12), ("concat", 24)):
    add(f"luong_{method}_{encoder // 12}", lambda method=method, e=encoder: Luong(method, 12, e),
        lambda b, n, m, e=encoder: {"hidden": randn(1, b, 12), "encoder_outputs": randn(n, b, e)},
        {"hidden": (None, BATCH, None), "encoder_outputs": (LENGTH, BATCH, None)}, ("out", "prob"))

# 2. Multi-head self-attention with all around it.


class SelfAttention(nn.Module):
    def __init__(self, width, heads, projects):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.projects = projects
        if projects:
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
            self.out = nn.Linear(width, width)
            self.norm = nn.LayerNorm(width)
        self.attn_dropout, self.dropout = nn.Dropout(0.1), nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.size(0), -1, self.heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = (self.q(x), self.k(x), self.v(x)) if self.projects else (x, x, x)
        q, k, v = self.split(q), self.split(k), self.split(v)
        score = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        score = score.masked_fill(~mask[:, None, None, :], float("-inf"))
        context = torch.matmul(self.attn_dropout(F.softmax(score, dim=-1)), v)
        merged = context.permute(0, 2, 1, 3).contiguous().view(x.shape)
        if not self.projects:
            return merged
        return self.norm(self.dropout(self.out(merged)) + x)


for projects in (True, False):
    add("self_attention" if projects else "self_attention_simple",
        lambda p=projects: SelfAttention(WIDTH, HEADS, p),
        lambda b, n, m: {"x": randn(b, n, WIDTH), "mask": lengths_mask(b, n)},
        {"x": (BATCH, LENGTH, None), "mask": (BATCH, LENGTH)})

# 3. One head.


class SingleHead(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, 8), nn.Linear(width, 8), nn.Linear(width, out)

    def forward(self, x):
        score = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) * 8 ** -0.5
        return torch.bmm(torch.softmax(score, dim=-1), self.v(x))


class PackedHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).split(self.width, dim=-1)
        prob = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.width), dim=-1)
        return prob @ v


class DividedAfter(nn.Module):
    """Divides what the softmax gives, not what it takes."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        score = torch.bmm(self.q(x), self.k(x).permute(0, 2, 1))
        prob = nn.Softmax(dim=-1)(score) / math.sqrt(self.width)
        return torch.bmm(prob, self.v(x))


class ZeroOneMask(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.qkv = nn.Linear(width, 3 * width)
        self.dropout, self.out = nn.Dropout(0.1), nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        score = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.width)
        score = score.masked_fill(mask == 0, -1e9)
        return self.out(torch.einsum("bqk,bkd->bqd", self.dropout(score.softmax(-1)), v))


one = (lambda b, n, m: {"x": randn(b, n, WIDTH)}, {"x": (BATCH, LENGTH, None)})
add("single_head", lambda: SingleHead(WIDTH, 12), *one)
add("packed_head", lambda: PackedHead(WIDTH), *one)
add("divided_after", lambda: DividedAfter(WIDTH), *one)
add("zero_one_mask", lambda: ZeroOneMask(WIDTH),
    lambda b, n, m: {"x": randn(b, n, WIDTH),
                     "mask": torch.tril(torch.ones(n, n)).expand(b, n, n).contiguous()},
    {"x": (BATCH, LENGTH, None), "mask": (BATCH, LENGTH, LENGTH)})

# 4. Time x batch x channel.


class TimeFirst(nn.Module):
    """`form` is self, cross, static (key and value are there already, as heads) or
    incremental (they are appended to what came before)."""

    def __init__(self, width, heads, bias, form):
        super().__init__()
        self.heads, self.head_dim, self.form = heads, width // heads, form
        self.q_proj = nn.Linear(width, width, bias=bias)
        if form != "static":
            self.k_proj = nn.Linear(width, width, bias=bias)
            self.v_proj = nn.Linear(width, width, bias=bias)
        self.out_proj = nn.Linear(width, width, bias=bias)

    def split(self, x, batch):
        return x.contiguous().view(-1, batch * self.heads, self.head_dim).transpose(0, 1)

    def attend(self, query, k, v, attn_mask=None, key_padding_mask=None):
        length, batch, width = query.size()
        q = self.split(self.q_proj(query) * self.head_dim ** -0.5, batch)
        score = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            score = score + attn_mask.unsqueeze(0)
        if key_padding_mask is not None:
            score = score.view(batch, self.heads, length, -1)
            hidden = key_padding_mask.unsqueeze(1).unsqueeze(2)
            score = score.masked_fill(hidden, float("-inf")).view(batch * self.heads, length, -1)
        prob = F.softmax(score, dim=-1)
        out = torch.bmm(prob, v).transpose(0, 1).contiguous().view(length, batch, width)
        return self.out_proj(out), prob.view(batch, self.heads, length, -1).mean(dim=1)

    def project(self, source):
        batch = source.size(1)
        return self.split(self.k_proj(source), batch), self.split(self.v_proj(source), batch)


class TimeFirstSelf(TimeFirst):
    def forward(self, query, attn_mask):
        return self.attend(query, *self.project(query), attn_mask=attn_mask)


class TimeFirstCross(TimeFirst):
    def forward(self, query, key, key_padding_mask):
        return self.attend(query, *self.project(key), key_padding_mask=key_padding_mask)


class TimeFirstStatic(TimeFirst):
    def merge(self, x):
        return x.view(-1, x.size(2), self.head_dim)

    def forward(self, query, prev_key, prev_value):
        return self.attend(query, self.merge(prev_key), self.merge(prev_value))


class TimeFirstIncremental(TimeFirstStatic):
    def forward(self, query, prev_key, prev_value):
        k, v = self.project(query)
        k = torch.cat([self.merge(prev_key), k], dim=1)
        v = torch.cat([self.merge(prev_value), v], dim=1)
        batch = query.size(1)
        out, prob = self.attend(query, k, v)
        return (out, prob, k.view(batch, self.heads, -1, self.head_dim),
                v.view(batch, self.heads, -1, self.head_dim))


def causal_float_mask(n):
    return torch.triu(torch.full((n, n), float("-inf")), 1)


TIME = (LENGTH, BATCH, None)
for bias in (True, False):
    suffix = "" if bias else "_no_bias"
    add("time_first_self" + suffix, lambda bias=bias: TimeFirstSelf(WIDTH, HEADS, bias, "self"),
        lambda b, n, m: {"query": randn(n, b, WIDTH), "attn_mask": causal_float_mask(n)},
        {"query": TIME, "attn_mask": (LENGTH, LENGTH)}, ("out", "prob"))
add("time_first_cross", lambda: TimeFirstCross(WIDTH, HEADS, True, "cross"),
    lambda b, n, m: {"query": randn(n, b, WIDTH), "key": randn(m, b, WIDTH),
                     "key_padding_mask": ~lengths_mask(b, m)},
    {"query": TIME, "key": (OTHER, BATCH, None), "key_padding_mask": (BATCH, OTHER)},
    ("out", "prob"))
CACHE = (BATCH, None, OTHER, None)
for name, module in (("static", TimeFirstStatic), ("incremental", TimeFirstIncremental)):
    add("time_first_" + name, lambda module=module, name=name: module(WIDTH, HEADS, True, name),
        lambda b, n, m: {"query": randn(1, b, WIDTH),
                         "prev_key": randn(b, HEADS, m, WIDTH // HEADS),
                         "prev_value": randn(b, HEADS, m, WIDTH // HEADS)},
        {"query": (None, BATCH, None), "prev_key": CACHE, "prev_value": CACHE},
        ("out", "prob") + (("present_key", "present_value") if name == "incremental" else ()))

# 5. Encoders.


class SharedHeads(nn.Module):
    """Projections of one head, shared by all of them."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(self.head_dim, self.head_dim, bias=False)
                                  for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        parts = x.reshape(batch, length, self.heads, self.head_dim)
        q, k, v = self.q(parts), self.k(parts), self.v(parts)
        root = self.head_dim ** 0.25
        score = torch.einsum("bqhd,bkhd->bhqk", q / root, k / root)
        score = score.masked_fill(mask[:, None, None, :] == 0, float("-1e20"))
        prob = torch.softmax(score, dim=3)
        out = torch.einsum("bhqk,bkhd->bqhd", prob, v).reshape(batch, length, width)
        return self.out(out)


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = SharedHeads(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.forward1, self.forward2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, mask):
        x = self.norm1(self.attention(x, mask) + x)
        return self.norm2(self.forward2(F.relu(self.forward1(x))) + x)


class Encoder(nn.Module):
    def __init__(self, vocabulary, width, heads, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(32, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids, mask):
        batch, length = ids.shape
        places = torch.arange(0, length, device=ids.device).expand(batch, length)
        x = self.dropout(self.tokens(ids) + self.positions(places))
        for layer in self.layers:
            x = layer(x, mask)
        return x


add("encoder", lambda: Encoder(20, WIDTH, HEADS, 2),
    lambda b, n, m: {"ids": torch.randint(0, 20, (b, n)), "mask": lengths_mask(b, n).long()},
    {"ids": (BATCH, LENGTH), "mask": (BATCH, LENGTH)})
add("torch_encoder_layer",
    lambda: nn.TransformerEncoderLayer(WIDTH, HEADS, 24, activation="gelu", batch_first=True),
    lambda b, n, m: {"src": randn(b, n, WIDTH)}, {"src": (BATCH, LENGTH, None)})



class Sound(nn.Module):
    """Convolutions make the tokens."""

    def __init__(self, channels, groups, width, heads):
        super().__init__()
        self.embed = nn.Conv1d(channels, width, 3, stride=2, padding=1)
        self.places = nn.Conv1d(width, width, 5, padding="same", groups=groups)
        self.layer = nn.TransformerEncoderLayer(width, heads, 24, batch_first=True)

    def forward(self, sound):
        tokens = F.gelu(self.embed(sound))
        return self.layer((tokens + self.places(tokens)).transpose(1, 2))


class Image(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 4, stride=4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.layer = nn.TransformerEncoderLayer(width, heads, 24, batch_first=True)

    def forward(self, image):
        patches = self.embed(image).flatten(2).transpose(1, 2)
        first = self.first.expand(image.shape[0], -1, -1)
        return self.layer(torch.cat((first, patches), 1))[:, 0]


add("sound", lambda: Sound(6, 4, WIDTH, HEADS),
    lambda b, n, m: {"sound": randn(b, 6, 4 * n)}, {"sound": (BATCH, None, LENGTH)})
add("image", lambda: Image(WIDTH, HEADS),
    lambda b, n, m: {"image": randn(b, 3, 12, 8)}, {"image": (BATCH, None, None, None)})

# 6. External attention.


class External(nn.Module):
    def __init__(self, width, memory):
        super().__init__()
        self.key = nn.Linear(width, memory, bias=False)
        self.value = nn.Linear(memory, width, bias=False)

    def forward(self, x):
        prob = torch.softmax(self.key(x), dim=1)
        prob = prob / torch.sum(prob, dim=2, keepdim=True)
        return self.value(prob)


add("external", lambda: External(WIDTH, 8), *one)

# 7. Variants of the score and the mask.


class Variant(nn.Module):
    """Attention on given heads; `change` makes something else of the score."""

    def __init__(self, change=None, prob=None):
        super().__init__()
        self.change, self.prob = change, prob

    def forward(self, query, key, value, more=None):
        score = query @ key.transpose(-1, -2) * query.size(-1) ** -0.5
        if self.change:
            score = self.change(score) if more is None else self.change(score, more)
        prob = self.prob(score) if self.prob else F.softmax(score, dim=-1)
        return prob @ value


class Sdpa(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key, value, mask=None):
        return F.scaled_dot_product_attention(query, key, value, mask, **self.options)


def positions(score):
    q = torch.arange(score.size(-2), device=score.device)[:, None]
    k = torch.arange(score.size(-1), device=score.device)[None, :]
    return q, k


def window(score):
    q, k = positions(score)
    return score.masked_fill((k > q) | (q - k > 3), float("-inf"))


def padded_causal(score, mask):
    q, k = positions(score)
    return torch.where((k <= q)[None, None] & mask[:, None, None, :], score,
                       torch.finfo(torch.float32).min)


def alibi(score):
    q, k = positions(score)
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)],
                          dtype=score.dtype)
    return score + slopes[None, :, None, None] * (k - q)


def prefix(score, prefix_lengths):
    q, k = positions(score)
    return torch.where((k <= q) | (k < prefix_lengths[:, None, None, None]), score, -torch.inf)


def documents(score, ids):
    same = ids[:, None, :, None] == ids[:, None, None, :]
    return score.masked_fill(same.logical_not(), float("-inf"))


def sigmoid(score):
    return torch.sigmoid(score - 2.0)


class T5(nn.Module):
    def __init__(self, heads, buckets, reach):
        super().__init__()
        self.buckets, self.reach = buckets, reach
        self.bias = nn.Embedding(buckets, heads)

    def bucket(self, distance):
        buckets = self.buckets // 2
        result = (distance > 0).to(torch.long) * buckets
        distance = torch.abs(distance)
        exact = buckets // 2
        large = exact + (torch.log(distance.float() / exact) / math.log(self.reach / exact)
                         * (buckets - exact)).to(torch.long)
        large = torch.min(large, torch.full_like(large, buckets - 1))
        return result + torch.where(distance < exact, distance, large)

    def forward(self, query, key, value):
        score = torch.matmul(query, key.transpose(3, 2))
        q, k = positions(score)
        score = score + self.bias(self.bucket(k - q)).permute([2, 0, 1]).unsqueeze(0)
        return torch.matmul(F.softmax(score, dim=-1), value)


class Sink(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.sinks = nn.Parameter(torch.randn(heads))

    def forward(self, query, key, value):
        score = torch.matmul(query, key.transpose(2, 3)) * query.size(-1) ** -0.5
        sinks = self.sinks.reshape(1, -1, 1, 1).expand(query.shape[0], -1, query.shape[-2], -1)
        both = torch.cat([score, sinks], dim=-1)
        both = both - both.max(dim=-1, keepdim=True).values
        prob = F.softmax(both, dim=-1)[..., :-1]
        return torch.matmul(prob, value)


class Differential(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads // 2
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.weight = nn.Parameter(torch.tensor(0.4))

    def forward(self, x):
        batch, length, width = x.shape
        q = self.q(x).view(batch, length, 2 * self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(batch, length, 2 * self.heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(batch, length, self.heads, 2 * self.head_dim).transpose(1, 2)
        first = F.scaled_dot_product_attention(q[:, ::2], k[:, ::2], v, is_causal=True)
        second = F.scaled_dot_product_attention(q[:, 1::2], k[:, 1::2], v, is_causal=True)
        out = (first - self.weight * second).transpose(1, 2).reshape(batch, length, width)
        return self.out(out)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Grouped(nn.Module):
    """A decoder's attention: rotary positions, RMS norms, keys repeated for groups."""

    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.v = nn.Linear(width, kv_heads * self.head_dim, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.norm = nn.Parameter(torch.rand(width))
        frequencies = 1.0 / 100 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.register_buffer("frequencies", frequencies)

    def repeat(self, x):
        batch, heads, length, dim = x.shape
        wide = x[:, :, None].expand(batch, heads, self.heads // heads, length, dim)
        return wide.reshape(batch, self.heads, length, dim)

    def forward(self, x):
        batch, length, width = x.shape
        x = self.norm * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        q = self.q(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        angle = torch.outer(torch.arange(length, device=x.device).to(x.dtype), self.frequencies)
        angle = torch.cat((angle, angle), dim=-1)
        q = q * angle.cos() + rotate_half(q) * angle.sin()
        k = k * angle.cos() + rotate_half(k) * angle.sin()
        score = torch.matmul(q, self.repeat(k).transpose(2, 3)) / math.sqrt(self.head_dim)
        causal = torch.triu(torch.full((length, length), float("-inf"), dtype=x.dtype), diagonal=1)
        prob = F.softmax(score + causal, dim=-1)
        out = torch.matmul(prob, self.repeat(v)).transpose(1, 2).contiguous()
        return self.o(out.view(batch, length, width))


def heads(b, n, m, q_heads=HEADS, kv_heads=HEADS):
    return {"query": randn(b, q_heads, n, 8), "key": randn(b, kv_heads, m, 8),
            "value": randn(b, kv_heads, m, 8)}


def variant(name, build, more=None, dims=None, square=True, **counts):
    other = LENGTH if square else OTHER
    def inputs(b, n, m):
        return heads(b, n, n if square else m, **counts) | (more(b, n, m) if more else {})
    add(name, build, inputs, {"query": (BATCH, None, LENGTH, None),
                              "key": (BATCH, None, other, None),
                              "value": (BATCH, None, other, None)} | (dims or {}))


variant("sdpa", Sdpa, square=False)
variant("sdpa_causal", lambda: Sdpa(is_causal=True))
variant("sdpa_padded", Sdpa, lambda b, n, m: {"mask": lengths_mask(b, m)[:, None, None, :]},
        {"mask": (BATCH, None, None, OTHER)}, square=False)
variant("sdpa_bias", Sdpa, lambda b, n, m: {"mask": randn(HEADS, n, m)},
        {"mask": (None, LENGTH, OTHER)}, square=False)
variant("sdpa_gqa", lambda: Sdpa(enable_gqa=True), square=False, q_heads=4)
variant("sdpa_mqa", lambda: Sdpa(enable_gqa=True, is_causal=True), q_heads=4, kv_heads=1)
variant("window", lambda: Variant(window))
variant("padded_causal", lambda: Variant(padded_causal),
        lambda b, n, m: {"mask": lengths_mask(b, n)}, {"mask": (BATCH, LENGTH)})
variant("alibi", lambda: Variant(alibi))
variant("softcap", lambda: Variant(lambda s: 5.0 * torch.tanh(s / 5.0)), square=False)
variant("prefix", lambda: Variant(prefix),
        lambda b, n, m: {"prefix_lengths": torch.arange(b) % n + 1}, {"prefix_lengths": (BATCH,)})
variant("documents", lambda: Variant(documents),
        lambda b, n, m: {"ids": (torch.arange(n)[None, :] // torch.arange(2, b + 2)[:, None])},
        {"ids": (BATCH, LENGTH)})
variant("sigmoid", lambda: Variant(prob=sigmoid), square=False)
variant("t5", lambda: T5(HEADS, 8, 16))
variant("sink", lambda: Sink(HEADS), square=False)
add("differential", lambda: Differential(WIDTH, HEADS), *one)
add("grouped_rotary", lambda: Grouped(WIDTH, 4, 2), *one)


class TorchMultihead(nn.Module):
    """PyTorch's own module."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, query, key, key_padding_mask):
        return self.attention(query, key, key, key_padding_mask=key_padding_mask)


add("torch_multihead", lambda: TorchMultihead(WIDTH, HEADS),
    lambda b, n, m: {"query": randn(b, n, WIDTH), "key": randn(b, m, WIDTH),
                     "key_padding_mask": ~lengths_mask(b, m)},
    {"query": (BATCH, LENGTH, None), "key": (BATCH, OTHER, None),
     "key_padding_mask": (BATCH, OTHER)}, ("out", "prob"))
