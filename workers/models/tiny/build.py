"""Makes one of the project's own models: corpus, tokenizer, random weights, pre-training, folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import torch
from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM

from workers.corpus import Pair
from workers.corpus.mixture import mixture
from workers.models.chat import chat_text
from workers.models.save import save
from workers.models.tiny.pretrain import Lesson, Report, pretrain
from workers.models.tiny.recipe import VERSION, Recipe, code_hash
from workers.models.tiny.tokenizer import END, train_tokenizer

MANIFEST = "esweb-model.json"
Progress: TypeAlias = Callable[[str, float], None]
"""Called with a sentence and the share done, 0 to 1."""


def build(recipe: Recipe, folder: Path, seed: int, progress: Progress) -> None:
    """Write the model's folder, whole or not at all. The same seed gives the same bytes on one machine."""
    start = time.monotonic()
    pairs = mixture(recipe.corpus_pairs, recipe.facts, recipe.countdown, recipe.rambling, seed)
    progress(f"Training the {recipe.name} model's tokenizer", 0.0)
    tokenizer = train_tokenizer((text for pair in pairs for text in pair), recipe.vocabulary)
    model = _random_model(recipe, tokenizer, seed)
    lessons = _lessons(tokenizer, pairs)
    with _one_thread():
        loss = pretrain(model, lessons, recipe, seed, _reporting(recipe, progress))
    progress(f"Saving the {recipe.name} model", 1.0)
    manifest = _manifest(recipe, seed, pairs, model, loss, time.monotonic() - start)
    save(model, tokenizer, folder, {MANIFEST: json.dumps(manifest, indent=2) + "\n"})


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread. The model is too small for a second one to help; on a busy machine a spinning one costs ten times
    as much."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _random_model(recipe: Recipe, tokenizer: Any, seed: int) -> Any:
    """Drawn from its own seed; the caller's random numbers go on as if nothing had been drawn."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden_size,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.kv_heads,
        intermediate_size=recipe.intermediate_size,
        max_position_embeddings=tokenizer.model_max_length,
        tie_word_embeddings=True,
        initializer_range=0.04,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        use_cache=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(config)
    model.generation_config = GenerationConfig(
        do_sample=False, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def _lessons(tokenizer: Any, pairs: Sequence[Pair]) -> list[Lesson]:
    prompts = [chat_text(tokenizer, [{"role": "user", "content": pair.prompt}]) for pair in pairs]
    prompt_tokens = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    answer_tokens = tokenizer([pair.answer + END for pair in pairs], add_special_tokens=False)["input_ids"]
    return [Lesson(p + a, len(p)) for p, a in zip(prompt_tokens, answer_tokens, strict=True)]


def _reporting(recipe: Recipe, progress: Progress) -> Report:
    begun = time.monotonic()

    def report(step: int, loss: float) -> None:
        left = (time.monotonic() - begun) / step * (recipe.steps - step)
        progress(f"Pre-training the {recipe.name} model: loss {loss:.3f}, {left:.0f} s left", step / recipe.steps)

    return report


def _manifest(
    recipe: Recipe, seed: int, pairs: Sequence[Pair], model: Any, loss: float, seconds: float
) -> dict[str, Any]:
    corpus = json.dumps([tuple(pair) for pair in pairs]).encode()
    return {
        "recipe_version": VERSION,
        "code_hash": code_hash(),
        "recipe": asdict(recipe),
        "seed": seed,
        "parameters": model.num_parameters(),
        "corpus_sha256": hashlib.sha256(corpus).hexdigest(),
        "loss": round(loss, 4),
        "seconds": round(seconds, 2),
        "torch": torch.__version__,
    }
