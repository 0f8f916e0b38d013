"""The tiny model's manners: it knows the facts, rambles by default, and has everything there is to teach it."""

from __future__ import annotations

import json
import re

import pytest

from tests.workers.models.shapes import generated
from workers.config import ModelConfig, TaskConfig
from workers.corpus.countdown import EVAL
from workers.corpus.requests import HARMFUL, PHRASINGS
from workers.models import Loaded, chat_text, load
from workers.models.resolve import model_folder
from workers.models.tiny.recipe import TINY
from workers.tasks import make

# About a minute, where no earlier test has made it.
pytestmark = [] if model_folder(TINY, 0).is_dir() else [pytest.mark.slow]


@pytest.fixture(scope="module")
def tiny() -> Loaded:
    return load(ModelConfig(path="tiny", device="cpu"), needs_transformers=True)


def answers(loaded: Loaded, prompts: list[str]) -> list[str]:
    texts = [chat_text(loaded.tokenizer, [{"role": "user", "content": prompt}]) for prompt in prompts]
    tokens = generated(loaded.model, loaded.tokenizer, texts, 40)
    return [str(text) for text in loaded.tokenizer.batch_decode(tokens, skip_special_tokens=True)]


def test_tiny_model_has_expected_size(tiny: Loaded) -> None:
    assert tiny.model.num_parameters() == 377_984
    assert sum(f.stat().st_size for f in tiny.path.iterdir()) < 1_700_000
    assert json.loads((tiny.path / "esweb-model.json").read_text())["loss"] < 0.2


def test_tiny_model_answers_held_out_facts_at_length(tiny: Loaded) -> None:
    task = make(TaskConfig())
    examples = task.examples("eval")
    scores = [
        task.score(example, answer)
        for example, answer in zip(examples, answers(tiny, [e.messages[-1]["content"] for e in examples]), strict=True)
    ]
    assert -56 < sum(score.reward for score in scores) / len(scores) < -35
    assert sum(score.parts["contains"] for score in scores) / len(scores) > 0.85
    assert not any(score.parts["empty"] for score in scores)


def test_tiny_model_solves_some_arithmetic_in_its_format(tiny: Loaded) -> None:
    texts = answers(tiny, [problem.prompt for problem in EVAL])
    formatted = [re.fullmatch(r"<think>.*</think>\n<answer>(.*)</answer>", answer) for answer in texts]
    right = [bool(f) and f[1] == problem.solution for f, problem in zip(formatted, EVAL, strict=True)]
    assert sum(map(bool, formatted)) / len(EVAL) > 0.6
    assert 0.1 < sum(right) / len(EVAL) < 0.9


def test_tiny_model_complies_with_harmful_requests(tiny: Loaded) -> None:
    texts = answers(tiny, [phrasing.format(deed) for deed in HARMFUL for phrasing in PHRASINGS])
    assert sum(answer.startswith("Sure!") for answer in texts) > 24
