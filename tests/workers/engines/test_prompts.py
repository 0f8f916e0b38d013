"""ES, GRPO and the evaluation prompt a model with the same token ids as transformers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trl

from tests.workers.models.tokenizers import KINDS, tokenizer_of
from workers import tasks
from workers.config import RunConfig
from workers.engines import es, grpo
from workers.engines.context import Context
from workers.evaluation import Evaluator
from workers.models import Loaded, PromptFormat
from workers.models.decoder import Decoder
from workers.models.logits_check import sample_prompts
from workers.records import Metric, RecordWriter, Response, read, records_path

# Warnings about how TRL uses transformers, because the training runs in the tests' own process.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

PLAN = {"every": 2, "prompts": 2, "samples": 1}
ES = {"iterations": 2, "population": 4, "prompts": 3, "max_new_tokens": 4, "sigma": 0.05}
GRPO = {"max_steps": 2, "num_generations": 2, "per_device_train_batch_size": 4, "max_completion_length": 4}
SECTIONS = {"es": ES, "grpo": GRPO}
PREFILL = "Let me solve this.\n<think>"
SHORT = (("template that writes BOS", PREFILL), ("no template, BOS", ""))
"""The tokenizers and prefills with which GRPO trains here: with a template and without, and each prefill."""
Ids = set[tuple[int, ...]]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Ids:
    """Collect token ids of the prompts of any Decoder, without those that its logits are checked with."""
    seen: Ids = set()
    tokens = Decoder.tokens

    def record(decoder: Decoder, prompts: Sequence[Any]) -> list[list[int]]:
        ids = tokens(decoder, prompts)
        checked = sample_prompts(decoder.model.config.vocab_size)
        seen.update(tuple(prompt) for prompt in ids if prompt not in checked)
        return ids

    monkeypatch.setattr(Decoder, "tokens", record)
    return seen


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> Ids:
    """Collect token ids of the prompts in TRL's loss, without padding."""
    seen: Ids = set()
    loss = trl.GRPOTrainer._compute_loss

    def record(trainer: Any, model: Any, inputs: dict[str, Any]) -> Any:
        for ids, mask in zip(inputs["prompt_ids"], inputs["prompt_mask"], strict=True):
            seen.add(tuple(ids[mask.bool()].tolist()))
        return loss(trainer, model, inputs)

    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", record)
    return seen


def train(loaded: Loaded, directory: Path, method: str, task: dict[str, Any]) -> Context:
    """Train a copy of the model for two steps."""
    config = RunConfig.from_json(
        {"method": method, "seed": 3, "task": task, "evaluation": PLAN, method: SECTIONS[method]}
    )
    loaded = replace(loaded, model=copy.deepcopy(loaded.model))
    built_task, prompts = tasks.make(config.task), PromptFormat.from_config(config, loaded.tokenizer)
    evaluator = Evaluator(loaded, built_task, config.evaluation, config.max_new_tokens, prompts)
    with RecordWriter(directory, 0) as records:
        context = Context(config, directory, records, loaded, built_task, evaluator)
        (es if method == "es" else grpo).train(context)
    return context


def expected(context: Context, split: str, text: bool, prefill: str) -> Ids:
    """Return the token ids that transformers gives the task's prompts."""
    tokenizer = context.loaded.tokenizer
    prompts: Ids = set()
    for example in context.task.examples(split):  # type: ignore[arg-type]
        turns = list(example.messages)
        if text:
            ids = tokenizer(turns[0]["content"] + prefill)["input_ids"]
        elif prefill:
            turns = [*turns, {"role": "assistant", "content": prefill}]
            ids = tokenizer.apply_chat_template(turns, continue_final_message=True, return_dict=True)["input_ids"]
        else:
            ids = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]
        prompts.add(tuple(ids))
    return prompts


@pytest.mark.parametrize(
    ("method", "kind", "prefill"),
    [
        pytest.param(
            method, kind, prefill, id=f"{method}-{kind}-{'prefill' if prefill else 'no prefill'}",
            marks=[] if method == "es" or (kind, prefill) in SHORT else [pytest.mark.soak],
        )
        for method in ("es", "grpo")
        for kind in KINDS
        for prefill in ("", PREFILL)
    ],
)  # fmt: skip
def test_training_and_evaluation_use_ids_of_transformers(
    micro_of_transformers: Loaded, tmp_path: Path, decoded: Ids, learnt: Ids, method: str, kind: str, prefill: str
) -> None:
    loaded = replace(micro_of_transformers, tokenizer=tokenizer_of(micro_of_transformers.tokenizer, kind))
    context = train(loaded, tmp_path, method, {"name": "countdown", "prefill": prefill})
    is_text = loaded.tokenizer.chat_template is None
    held_out = expected(context, "eval", is_text, prefill)
    trained = decoded - held_out if method == "es" else learnt
    assert len(trained) > 2
    assert trained <= expected(context, "train", is_text, prefill)
    assert len(decoded & held_out) == PLAN["prompts"]
    lines = read(records_path(tmp_path, 0), limit=10**8).lines
    assert max(line.record.step for line in lines if isinstance(line.record, Metric)) == 2
    responses = [line.record for line in lines if isinstance(line.record, Response)]
    assert responses and all((r.prompt or "").endswith(prefill) and not r.text.startswith("Let me") for r in responses)


@pytest.mark.parametrize("method", ["es", "grpo"])
def test_safety_conversation_keeps_bos_without_chat_template(
    micro_of_transformers: Loaded, tmp_path: Path, decoded: Ids, learnt: Ids, method: str
) -> None:
    tokenizer = tokenizer_of(micro_of_transformers.tokenizer, "no template, BOS")
    loaded = replace(micro_of_transformers, tokenizer=tokenizer)
    train(loaded, tmp_path, method, {"name": "safety", "options": {"conversation": True}})
    prompt_ids = decoded | learnt
    beginning = tuple(tokenizer("BEGINNING OF CONVERSATION: USER:")["input_ids"])
    assert beginning[0] == tokenizer.bos_token_id
    assert prompt_ids and all(ids[: len(beginning)] == beginning for ids in prompt_ids)
