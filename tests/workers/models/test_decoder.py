"""The decoder answers as transformers does, and its samples depend only on the seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, Qwen2Config, Qwen3Config

from tests.cases import each_case
from tests.workers.models.shapes import ARCHITECTURES, LINEAR, Make, gemma3, generated, logits, mistral, prompts, qwen2
from workers.models import Loaded
from workers.models.decoder import Decoder, unknown_reason

EACH = each_case("make", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
LONG_BEGINNING = "<|im_start|>system\nBe brief, name one river and say nothing else.<|im_end|>\n"


def test_greedy_answers_equal_those_of_transformers(micro: Loaded, micro_of_transformers: Loaded) -> None:
    texts = prompts(60)
    answers = Decoder(micro.model, micro.tokenizer).greedy(texts, 40)
    assert [a.tokens for a in answers] == generated(micro_of_transformers.model, micro.tokenizer, texts, 40)


@EACH
@each_case("beginning", ["", LONG_BEGINNING], ids=["short prompts", "a long shared beginning"])
def test_each_known_shape_answers_as_in_transformers(micro: Loaded, make: Make, beginning: str) -> None:
    model, texts = make(micro.tokenizer), [beginning + text for text in prompts(20)]
    answers = Decoder(model, micro.tokenizer).greedy(texts, 20)
    assert [a.tokens for a in answers] == generated(model, micro.tokenizer, texts, 20)
    assert len({token for a in answers for token in a.tokens}) > 10, "the answers say too little to be compared"


@EACH
def test_last_logits_equal_those_of_transformers(micro: Loaded, make: Make) -> None:
    model, texts = make(micro.tokenizer), [LONG_BEGINNING + text for text in prompts(20)]
    expected = torch.stack([logits(model, micro.tokenizer, text) for text in texts])
    # Several batches, to see that each row is its own prompt's.
    measured = Decoder(model, micro.tokenizer, rows=8).last_logits(texts)
    # Their standard deviation is 0.3 to 2: 1e-4 is rounding, and any feature left out is 1e-2 at least.
    torch.testing.assert_close(measured, expected, atol=1e-4, rtol=0)


def test_answers_are_independent_of_order_and_rows(micro: Loaded) -> None:
    texts = prompts(30)
    at_once = Decoder(micro.model, micro.tokenizer).greedy(texts, 30)
    in_sevens = Decoder(micro.model, micro.tokenizer, rows=7).greedy(texts[::-1], 30)
    assert in_sevens[::-1] == at_once


@pytest.mark.parametrize(
    "texts",
    [
        ["<|im_start|>system\nBe brief.<|im_end|>\n" + text for text in prompts(6)],
        ["a b c d", "a b c d e f g", "a b c d"],
        ["x", "a b", "a c"],
        ["the same"] * 3,
    ],
    ids=["a system message", "one ends where the others go on", "nothing shared", "all the same"],
)
def test_answers_are_independent_of_shared_beginnings(micro: Loaded, texts: list[str]) -> None:
    decoder = Decoder(micro.model, micro.tokenizer)
    together = [c.tokens for c in decoder.greedy(texts, 12)]
    assert together == [decoder.greedy([text], 12)[0].tokens for text in texts]


def test_answer_ends_at_end_token_or_is_clipped(micro: Loaded) -> None:
    whole, cut = (Decoder(micro.model, micro.tokenizer).greedy(prompts(1), n)[0] for n in (64, 3))
    assert whole.tokens[-1] == micro.tokenizer.eos_token_id
    assert not whole.clipped
    assert cut.clipped
    assert cut.tokens == whole.tokens[:3]
    assert micro.tokenizer.eos_token not in whole.text


def test_samples_depend_only_on_seed(micro: Loaded) -> None:
    decoder, texts = Decoder(micro.model, micro.tokenizer), prompts(20)
    torch.manual_seed(1)
    first = decoder.sample(texts, 20, temperature=1.0, seed=7)
    torch.manual_seed(2)
    assert Decoder(micro.model, micro.tokenizer, rows=6).sample(texts, 20, temperature=1.0, seed=7) == first
    assert decoder.sample(texts, 20, temperature=1.0, seed=8) != first


def test_samples_follow_the_models_probabilities(micro: Loaded) -> None:
    text, draws, temperature = prompts(1)[0], 4000, 1.5
    tokens = micro.tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    expected = (micro.model(tokens).logits[0, -1] / temperature).softmax(-1)
    decoder = Decoder(micro.model, micro.tokenizer, rows=draws)
    tokens_drawn = [c.tokens[0] for c in decoder.sample([text] * draws, 1, temperature, seed=0)]
    share = torch.bincount(torch.tensor(tokens_drawn), minlength=len(expected)) / draws
    # Five standard errors of a share, for every token of the vocabulary.
    assert bool(((share - expected).abs() <= 5 * (expected / draws).sqrt() + 1 / draws).all())


def test_sample_at_low_temperature_equals_greedy(micro: Loaded) -> None:
    decoder, texts = Decoder(micro.model, micro.tokenizer), prompts(5)
    assert decoder.sample(texts, 20, temperature=1e-4, seed=0) == decoder.greedy(texts, 20)


def test_unknown_architecture_falls_back_to_transformers_with_warning(
    micro: Loaded, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The warning is logged once per process, by this test or by another.
    monkeypatch.setattr("workers.models.decoder.decoder._logged_reasons", set())
    torch.manual_seed(0)
    sizes = GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=512, initializer_range=0.3)
    model, texts = GPT2LMHeadModel(sizes).eval().requires_grad_(False), prompts(6)
    model.generation_config.eos_token_id = micro.tokenizer.eos_token_id
    model.generation_config.pad_token_id = micro.tokenizer.pad_token_id
    with caplog.at_level(logging.WARNING):
        decoder = Decoder(model, micro.tokenizer)
    assert "model type gpt2" in caplog.text
    expected = generated(model, micro.tokenizer, texts, 12)
    assert [a.tokens for a in decoder.greedy(texts, 12)] == expected
    assert decoder.sample(texts, 12, 1.0, seed=3) == decoder.sample(texts, 12, 1.0, seed=3)


def test_penalties_of_the_generation_config_are_not_applied(micro: Loaded) -> None:
    model, texts = qwen2(micro.tokenizer), prompts(10)
    plain = generated(model, micro.tokenizer, texts, 12)
    model.generation_config.repetition_penalty = 1.5
    assert generated(model, micro.tokenizer, texts, 12) != plain
    assert [a.tokens for a in Decoder(model, micro.tokenizer).greedy(texts, 12)] == plain


def test_a_prompt_without_tokens_is_refused_and_none_is_fine(micro: Loaded) -> None:
    decoder = Decoder(micro.model, micro.tokenizer)
    assert decoder.greedy([], 5) == []
    with pytest.raises(ValueError, match="at least one token"):
        decoder.greedy([""], 5)


@EACH
def test_last_logits_in_bfloat16_differ_by_its_rounding_alone(micro: Loaded, make: Make) -> None:
    model, texts = make(micro.tokenizer).to(torch.bfloat16), prompts(20)
    expected = torch.stack([logits(model, micro.tokenizer, text) for text in texts]).float()
    measured = Decoder(model, micro.tokenizer).last_logits(texts)
    assert measured.dtype == torch.bfloat16
    # Two or three layers of roundings by up to 2^-8 each.
    assert float((measured.float() - expected).norm() / expected.norm()) < 0.03


@pytest.mark.parametrize(
    ("make", "changes", "reason"),
    [
        (qwen2, {"hidden_act": "gelu"}, "activation gelu is not one of silu, gelu_pytorch_tanh"),
        (gemma3, {"use_bidirectional_attention": True}, "tokens attend to those after them"),
        (mistral, {"layer_types": ["full_attention", "sliding_attention"]}, "same attention in all layers"),
        (qwen2, {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, "rope type dynamic"),
        (
            gemma3,
            {"rope_parameters": {"full_attention": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}},
            "rope type dynamic",
        ),
    ],
    ids=["activation", "bidirectional", "mixed mistral", "rope", "rope of one layer type"],
)
def test_reason_for_unknown_model_names_its_feature(
    micro: Loaded, make: Make, changes: dict[str, Any], reason: str
) -> None:
    model = make(micro.tokenizer, **changes)
    assert reason in (unknown_reason(model.config) or "")
    assert Decoder(model, micro.tokenizer).shape is None


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (LlamaConfig(rope_parameters={**LINEAR, "partial_rotary_factor": 0.5}), "cover only a part of each head"),
        (Qwen2Config(layer_types=["sliding_attention"] * 32), "a sliding window whose size is not given"),
        (Qwen2Config(quantization_config={"quant_method": "gptq"}), "its weights are quantised"),
        (Qwen3Config(layer_types=["chunked_attention"] * 32), "layer type chunked_attention is not one of full_"),
    ],
    ids=["part of a head", "window without a size", "quantised", "chunks"],
)
def test_reason_for_unknown_model_needs_only_config(config: Any, reason: str) -> None:
    assert reason in (unknown_reason(config) or "")


def test_a_decoder_measures_prefill_and_decode_of_each_batch(micro: Loaded) -> None:
    phases: list[str] = []

    @contextmanager
    def measure(phase: str) -> Iterator[None]:
        phases.append(phase)
        yield
        phases.append(f"end of {phase}")

    texts = prompts(5)
    answers = Decoder(micro.model, micro.tokenizer, rows=3, measure=measure).greedy(texts, 5)
    assert phases == ["prefill", "end of prefill", "decode", "end of decode"] * 2
    assert answers == Decoder(micro.model, micro.tokenizer).greedy(texts, 5)
