"""Families of transformers with tiny configurations: logits beside eager attention's, and 16 tokens generated with
left padding. Prints a table; fails where a family differs.

    python sweep_transformers.py [FAMILY...]"""

import sys
import time
import warnings

import torch
import transformers

import attnc
import attnc.transformers

FAMILIES = """llama mistral qwen2 qwen3 gemma gemma2 gemma3_text gemma4_text gpt_oss phi phi3 olmo olmo2 olmo3 cohere cohere2
    granite granitemoe granite_swa starcoder2 stablelm gpt_neox gpt_neox_japanese gpt2 opt smollm3 exaone4 glm glm4 nemotron
    llama4_text
    mixtral qwen2_moe qwen3_moe deepseek_v3 mimo_v2_flash arcee apertus ernie4_5 helium persimmon seed_oss
    hunyuan_v1_dense minimax modernbert-decoder vaultgemma bitnet dots1 biogpt doge lfm2 deepseek_v2 jetmoe diffllama
    deepseek_v32 deepseek_v4 glm_moe_dsa bloom falcon""".split()

# As many heads of one size in all, so that families share kernels.
SMALL = dict(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, vocab_size=99, n_embd=64, n_layer=2, n_head=4, ffn_dim=64, word_embed_proj_dim=64, ffn_hidden_size=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=0, num_local_experts=2, n_routed_experts=4, num_experts=4,
             num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, shared_expert_intermediate_size=32,
             n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_rope_head_dim=8,
             qk_nope_head_dim=8, v_head_dim=16, sliding_window=16, query_pre_attn_scalar=16, rotary_dim=16,
             hidden_size_per_layer_input=16, vocab_size_per_layer_input=99, num_kv_shared_layers=0,
             global_head_dim=16, attention_chunk_size=16, max_position_embeddings=256, layer_norm_eps=1e-5)


# What a family asks for beside.
_LATENT = {"head_dim": 8, "num_key_value_heads": 4}
MORE = {"deepseek_v2": _LATENT | {"num_experts_per_tok": 2}, "deepseek_v3": _LATENT, "deepseek_v32": _LATENT | {"index_topk": 8},
        "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
        "nemotron": {"num_key_value_heads": 2}, "doge": {"keep_window_size": 256},
        "glm_moe_dsa": _LATENT | {"index_topk": 8},
        "deepseek_v4": {"o_groups": 2, "o_lora_rank": 16, "index_n_heads": 2, "index_head_dim": 16, "index_topk": 8,
                        "num_key_value_heads": 1, "qk_rope_head_dim": 8}}


def make_config(family):
    """The defaults, with the sizes that it has made small."""
    auto = transformers.AutoConfig
    has = auto.for_model(family).to_dict()
    small = {name: size for name, size in SMALL.items() if name in has and (has[name] is not None or name == "head_dim")}
    for name in "layer_types", "mlp_layer_types", "no_rope_layers":
        if has.get(name):
            small[name] = [has[name][0], has[name][-1]]
    return auto.for_model(family, **small | MORE.get(family, {}))


def make_model(family):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(make_config(family)).eval()


@torch.no_grad()
def compare(family):
    """(largest difference of logits, whether tokens are equal, how many calls attnc served)."""
    model = make_model(family)
    ids = torch.randint(3, 99, (2, 40), generator=torch.Generator().manual_seed(1))
    seen = torch.ones_like(ids)
    seen[0, :7] = 0
    results = {}
    for implementation in "eager", "attnc":
        model.set_attn_implementation(implementation)
        logits = model(ids, attention_mask=seen).logits[seen.bool()]
        tokens = model.generate(ids, attention_mask=seen, max_new_tokens=16, min_new_tokens=16, do_sample=False)
        results[implementation] = logits, tokens
    (eager, eager_tokens), (ours, our_tokens) = results.values()
    return float((eager - ours).abs().max() / eager.abs().max()), torch.equal(eager_tokens, our_tokens)


def main(families):
    transformers.logging.set_verbosity_error()
    attnc.transformers.register()
    served, bad, calls = [], [], [0]
    run = attnc.Kernel.__call__
    attnc.Kernel.__call__ = lambda *inputs, **options: calls.__setitem__(0, calls[0] + 1) or run(*inputs, **options)
    for family in families:
        calls[0], start = 0, time.time()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            attnc._fallback._told.clear()
            try:
                difference, equal = compare(family)
                verdict = f"{difference:.1e}  {'equal' if equal else 'DIFFERENT'}  {calls[0]:4} calls"
                ok = difference < 1e-4 and equal
            except Exception as error:
                verdict, ok = f"ERROR {type(error).__name__}: {error}"[:300], False
        reasons = "; ".join(str(each.message) for each in told if str(each.message).startswith("attnc"))
        served += [family] if ok and calls[0] else []
        bad += [] if ok else [family]
        print(f"{family:22} {'ok ' if ok else 'BAD'} {verdict}  {time.time() - start:.0f} s  {reasons}", flush=True)
    print(f"{len(served)} of {len(families)} families served by attnc, as eager attention")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:] or FAMILIES) else 0)
