"""attn_implementation="attnc" in the forms that sweep_transformers.py does not meet: caches, masks, encoders, bf16, and
what the model's own attention has to do."""

import os
import sys
import unittest
import unittest.mock
import warnings

import torch
import transformers

import attnc
import attnc.transformers
from attnc import _fallback, _model_mask

sys.path.insert(0, os.path.dirname(__file__))
from sweep_transformers import make_config, make_model

attnc.transformers.register()
transformers.logging.set_verbosity_error()
IDS = torch.randint(3, 99, (2, 40), generator=torch.Generator().manual_seed(1))
SEEN = torch.ones_like(IDS)
SEEN[0, :7] = 0


class ModelTest(unittest.TestCase):
    def setUp(self):
        _fallback._told.clear()
        self.enterContext(torch.no_grad())

    def run_both(self, model, run):
        """What `run` returns with eager attention and with ours, and what attnc warns of."""
        results = []
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for implementation in "eager", "attnc":
                model.set_attn_implementation(implementation)
                results.append(run(model))
        return *results, [str(each.message) for each in told if str(each.message).startswith("attnc")]

    def compare(self, model, run, tolerance=1e-4):
        expected, found, told = self.run_both(model, run)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
        return told

    def logits(self, seen=SEEN, **options):
        return lambda model: model(IDS, attention_mask=seen, **options).logits[SEEN.bool()]

    def generate(self, seen=SEEN, **options):
        return lambda model: model.generate(IDS, attention_mask=seen, max_new_tokens=24, min_new_tokens=24,
                                            do_sample=False, **options)


class CacheTest(ModelTest):
    def test_static(self):
        for family in "llama", "gemma2", "gpt_oss":
            with self.subTest(family):
                self.assertEqual(self.compare(make_model(family), self.generate(cache_implementation="static")), [])

    def test_without(self):
        self.assertEqual(self.compare(make_model("gpt_oss"), self.generate(use_cache=False)), [])

    def test_in_chunks(self):
        def run(model):
            cache = transformers.DynamicCache(config=model.config)
            parts = [model(IDS[:, at:at + 8], attention_mask=SEEN[:, :at + 8], past_key_values=cache).logits
                     for at in range(0, 40, 8)]
            return torch.cat(parts, 1)[SEEN.bool()]

        for family in "llama", "gemma2":
            with self.subTest(family):
                self.assertEqual(self.compare(make_model(family), run), [])

    def test_kernels_are_shared(self):
        """By all lengths, batches, padded prompts and caches."""
        model, texts = make_model("llama"), set()
        model.set_attn_implementation("attnc")
        write = attnc._attention.SpecWriter.write

        def note(writer):
            texts.add(text := write(writer))
            return text

        with unittest.mock.patch.object(attnc._attention.SpecWriter, "write", note), \
                unittest.mock.patch.object(attnc.transformers, "_known", {}):
            self.generate()(model)
            self.generate(cache_implementation="static")(model)
            model(IDS[:1, :9], attention_mask=torch.tensor([[0, 0] + [1] * 7]))
        self.assertEqual(len(texts), 1)

    def test_masks_of_tokens_are_traced_once(self):
        model = make_model("gemma2")
        model.set_attn_implementation("attnc")
        with unittest.mock.patch.object(attnc.transformers, "build", wraps=attnc.transformers.build) as build, \
                unittest.mock.patch.object(attnc.transformers, "_known", {}):
            self.generate()(model)
        self.assertEqual(build.call_count, 2)  # of a window, and of all keys

    def test_no_table(self):
        model = make_model("gemma2")
        model.set_attn_implementation("attnc")
        with unittest.mock.patch("transformers.masking_utils.eager_mask", side_effect=AssertionError), \
                unittest.mock.patch("transformers.masking_utils.sdpa_mask", side_effect=AssertionError):
            self.generate()(model)


class MaskTest(ModelTest):
    def test_of_four_dims(self):
        causal = torch.ones(40, 40).tril().bool()[None, None] & SEEN.bool()[:, None, None]
        causal = causal | torch.eye(40).bool()
        least = torch.finfo(torch.float32).min
        added = torch.where(causal, 0.0, least) - torch.arange(40) * 0.01
        self.assertEqual(self.compare(make_model("llama"), self.logits(added)), [])
        self.assertEqual(self.compare(make_model("llama"), self.logits(added[:1])), [])
        model = make_model("llama")
        expected = self.logits(torch.where(causal, 0.0, least))(model)
        model.set_attn_implementation("attnc")
        torch.testing.assert_close(self.logits(causal)(model), expected, rtol=1e-4, atol=1e-4)

    def test_packed(self):
        places = torch.cat([torch.arange(13), torch.arange(20), torch.arange(7)]).expand(2, -1)
        run = lambda model: model(IDS, position_ids=places).logits
        for family in "llama", "gemma2":
            self.assertEqual(self.compare(make_model(family), run), [])

    def test_encoder(self):
        config = make_config("bert")
        seen = SEEN.flip(1)
        run = lambda model: model(IDS, attention_mask=seen).last_hidden_state[seen.bool()]
        self.assertEqual(self.compare(transformers.BertModel(config).eval(), run), [])
        self.assertEqual(self.compare(transformers.BertModel(config).eval(), lambda model: model(IDS).last_hidden_state), [])

    def test_encoder_and_decoder(self):
        config = transformers.T5Config(vocab_size=99, d_model=64, d_kv=16, d_ff=64, num_layers=2, num_heads=4,
                                       decoder_start_token_id=0)
        run = lambda model: model.generate(IDS, attention_mask=SEEN.flip(1), max_new_tokens=16, min_new_tokens=16, do_sample=False)
        torch.manual_seed(0)
        self.assertEqual(self.compare(transformers.T5ForConditionalGeneration(config).eval(), run), [])

    def test_that_does_not_fit(self):
        model = make_model("llama")
        model.set_attn_implementation("attnc")
        with self.assertRaisesRegex(ValueError, r"attention_mask: expected shape \(2, 4, 40, 40\), .* found \(2, 1, 40, 39\)"):
            model(IDS, attention_mask=torch.ones(2, 1, 40, 39, dtype=torch.bool))

    def test_parts(self):
        """A model may cut rows and columns off its mask; anything else gets the table."""
        masking_utils = transformers.masking_utils
        options = dict(batch_size=2, q_length=6, kv_length=9, q_offset=torch.tensor(3), attention_mask=SEEN[:, 4:13].bool())
        mask, table = _model_mask.make_mask(**options), masking_utils.eager_mask(**options)
        cut = mask[:, :, -2:, 1:8][:, :, 1:]
        self.assertIsInstance(cut, _model_mask.Mask)
        self.assertTrue(torch.equal(cut.dense(), table[:, :, 5:, 1:8]))
        with self.assertWarnsRegex(UserWarning, r"computes with its mask \(add\), which becomes a table"):
            self.assertTrue(torch.equal(mask + 1, table + 1))
        with self.assertWarnsRegex(UserWarning, r"\(cat\)"):
            self.assertTrue(torch.equal(torch.cat([mask, mask], -1), torch.cat([table, table], -1)))
        for change in lambda: mask.add_(1), lambda: mask.__setitem__(0, 0.0), lambda: torch.add(table, 1, out=mask):
            self.assertRaisesRegex(NotImplementedError, "expected no change of a mask in place", change)
        query, key = torch.randn(2, 4, 1, 16), torch.randn(2, 4, 7, 16)
        context, _ = attnc.transformers.attend(None, query, key, key, cut)
        expected = torch.softmax(query @ key.transpose(2, 3) / 4 + table[:, :, 5:, 1:8], -1) @ key
        torch.testing.assert_close(context.transpose(1, 2), expected, rtol=1e-4, atol=1e-5)


class TypeTest(ModelTest):
    def test_half_precision(self):
        for dtype, tolerance in (torch.bfloat16, 6e-2), (torch.float16, 1e-2):
            for family in "llama", "gemma2", "gpt_oss":
                with self.subTest(family, dtype=dtype):
                    self.assertEqual(self.compare(make_model(family).to(dtype), self.logits(), tolerance), [])


class FallBackTest(ModelTest):
    def check(self, run, reason, model=None):
        told = self.compare(model or make_model("gpt_oss"), run)
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], reason)

    def test_gradient(self):
        with torch.enable_grad():
            self.check(self.logits(), "GptOssAttention runs the model's own attention: a gradient is asked for")

    def test_probabilities(self):
        run = lambda model: model(IDS, attention_mask=SEEN, output_attentions=True).logits
        self.check(run, r"the probabilities are asked for \(output_attentions\)|computes with its mask")

    def test_sinks_of_another_type(self):
        model = make_model("gpt_oss")
        for layer in model.model.layers:
            layer.self_attn.sinks.data = layer.self_attn.sinks.data.double()
        self.check(self.logits(), r"sinks are torch.float64 of shape \(4,\)", model)

    def test_mask_function_of_numbers(self):
        """One that can't be traced becomes a table."""
        def mask_function(b, h, q, k):
            return torch.stack([q * 0 + k * 0 + 1, (k <= q) * 1]).all(0)

        options = dict(batch_size=2, q_length=40, kv_length=40, mask_function=mask_function)
        mask, table = _model_mask.make_mask(**options), transformers.masking_utils.eager_mask(**options)
        query, key = torch.randn(2, 4, 40, 16), torch.randn(2, 4, 40, 16)
        with self.assertWarnsRegex(UserWarning, "a mask becomes a table of q_len x kv_len: .*torch's stack"):
            context, _ = attnc.transformers.attend(None, query, key, key, mask)
        expected = torch.softmax(query @ key.transpose(2, 3) / 4 + table, -1) @ key
        torch.testing.assert_close(context.transpose(1, 2), expected, rtol=1e-4, atol=1e-5)

    def test_what_none_serves(self):
        query = torch.randn(1, 4, 8, 16)
        with self.assertRaisesRegex(NotImplementedError, "block_indices"):
            attnc.transformers.attend(None, query, query, query, None, block_indices=torch.zeros(1))


if __name__ == "__main__":
    unittest.main()
