"""Generation by small models of transformers: milliseconds of CPU time for a prompt and for each token
after it, the shortest of several runs in turns, with the attention of attnc, of others, and with none,
which shows what the rest of the model takes. One core, one thread. Needs the Python package, PyTorch
and transformers."""

import argparse
import os
import sys
import time

os.environ.update(HL_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import attnc.transformers
import torch
import transformers

# As gpt_oss and gemma2 in all but width, depth, experts and words.
SIZES = dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2, head_dim=64,
             vocab_size=4096, max_position_embeddings=4096, eos_token_id=None, pad_token_id=0)
MODELS = {"gpt_oss": dict(SIZES, intermediate_size=512, num_local_experts=4, num_experts_per_tok=2, sliding_window=128),
          "gemma2": dict(SIZES, intermediate_size=1024, query_pre_attn_scalar=64, sliding_window=1024)}
IMPLEMENTATIONS = "eager", "sdpa", "attnc", "none"


def attend_to_nothing(module, query, key, value, *_, **__):
    return query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[3]), None


def make_model(family, dtype):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(family, **MODELS[family])
    return transformers.AutoModelForCausalLM.from_config(config).to(dtype).eval()


def is_allowed(model, name):
    try:
        model.set_attn_implementation(name)
    except ValueError:  # says that the model doesn't take it
        return False
    return True


@torch.inference_mode()
def time_generate(model, implementation, ids, new_tokens):
    """Milliseconds of the prompt and of all, and the tokens."""
    model.set_attn_implementation(implementation)
    options = dict(do_sample=False, attention_mask=torch.ones_like(ids))
    start = time.process_time()
    model.generate(ids, max_new_tokens=1, **options)
    prompt = time.process_time()
    tokens = model.generate(ids, max_new_tokens=new_tokens, min_new_tokens=new_tokens, **options)
    return 1e3 * (prompt - start), 1e3 * (time.process_time() - prompt), tokens[:, ids.shape[1]:]


def bench(family, dtype, options):
    model = make_model(family, dtype)
    ids = torch.randint(3, 4000, (options.batch, options.prompt), generator=torch.Generator().manual_seed(1))
    names = [name for name in IMPLEMENTATIONS if is_allowed(model, name)]
    for name in names:  # compiles
        time_generate(model, name, ids, 2)
    runs = {name: [] for name in names}
    for _ in range(options.repeat):
        for name in names:
            runs[name].append(time_generate(model, name, ids, options.tokens))
    report(f"{family:8} {str(dtype).partition('.')[2]:9}", runs)


def report(label, runs):
    tokens = runs["eager"][0][2]
    eager = min(run[1] for run in runs["eager"])
    for name, found in runs.items():
        prompt, whole = (min(run[i] for run in found) for i in (0, 1))
        same = "" if name == "none" else f", {(found[0][2] == tokens).float().mean():4.0%} of eager's tokens"
        print(f"{label} {name:6} prompt {prompt:7.1f}, each token {(whole - prompt) / (tokens.shape[1] - 1):6.2f}, "
              f"in all {whole:7.1f} ms: {eager / whole:.2f} times as fast as eager{same}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench generate", description=__doc__)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--prompt", type=int, default=1024, help="its tokens (default 1024)")
    parser.add_argument("--tokens", type=int, default=128, help="to generate, at least 2 (default 128)")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5, help="runs (default 5)")
    parser.add_argument("--model", choices=MODELS, action="append", help="one of them alone")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), action="append",
                        help="by default float32 and bfloat16")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    attnc.transformers.register()
    transformers.AttentionInterface.register("none", attend_to_nothing)
    transformers.AttentionMaskInterface.register("none", lambda **_: None)
    for family in options.model or MODELS:
        for dtype in options.dtype or ("float32", "bfloat16"):
            bench(family, getattr(torch, dtype), options)


if __name__ == "__main__":
    sys.exit(main())
