"""The evaluator on the micro model: its prompts, its measures, and that it leaves the training unchanged."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from tests.cases import each_case
from workers.analysis.keys import CAPTURED
from workers.config import EvaluationConfig, TaskConfig
from workers.evaluation import Evaluator
from workers.models import Loaded, chat_text
from workers.models.decoder import Decoder
from workers.tasks import Example, RewardFailed, Score, make

PLAN = EvaluationConfig(prompts=6, samples=2)
TASK = make(TaskConfig())


@pytest.fixture
def trained(micro: Loaded) -> torch.nn.Module:
    """Return a copy of the micro model with slightly changed weights."""
    model: torch.nn.Module = copy.deepcopy(micro.model)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return model


def test_base_model_has_zero_kl(micro: Loaded) -> None:
    values = Evaluator(micro, TASK, PLAN, 12).run(micro.model, 0).values

    assert {k: v for k, v in values.items() if k.startswith("kl")} == dict.fromkeys(
        ("kl", "kl/se", "kl/sequence", "kl/sequence_se", "kl/k3", "kl/k3_se", "kl/k3_sequence", "kl/k3_sequence_se"), 0
    )


def test_reward_is_task_score_of_generated_answers(
    micro: Loaded, micro_of_transformers: Loaded, trained: torch.nn.Module
) -> None:
    evaluation = Evaluator(micro, TASK, PLAN, 12).run(trained, 3)

    reference, rewards = copy.deepcopy(micro_of_transformers.model), []
    reference.load_state_dict(trained.state_dict())
    for example in TASK.examples("eval")[:6]:
        prompt = micro.tokenizer(chat_text(micro.tokenizer, example.messages), return_tensors="pt")
        output = reference.generate(**prompt, max_new_tokens=12, do_sample=False)
        text = micro.tokenizer.decode(output[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)
        rewards.append(TASK.score(example, text).reward)
    assert [r.reward for r in evaluation.responses if r.sample == 0] == rewards
    assert evaluation.values["reward/mean"] == pytest.approx(sum(rewards) / 6)


def test_responses_have_prompt_and_target(micro: Loaded, trained: torch.nn.Module) -> None:
    evaluation = Evaluator(micro, TASK, PLAN, 12).run(trained, 3)

    examples = TASK.examples("eval")[:6]
    assert [(r.prompt_id, r.sample) for r in evaluation.responses] == [(e.id, s) for s in (0, 1, 2) for e in examples]
    assert [r.categories for r in evaluation.responses[:6]] == [e.categories for e in examples] != [()] * 6
    first = evaluation.responses[0]
    assert (first.step, first.split, first.target) == (3, "eval", examples[0].target)
    assert first.prompt == examples[0].messages[-1]["content"]
    assert first.parts.keys() >= {"exact", "contains"}
    sampled = [r.kl for r in evaluation.responses if r.sample > 0]
    assert evaluation.values["kl/sequence"] == pytest.approx(sum(kl or 0.0 for kl in sampled) / len(sampled))


def test_evaluation_is_independent_of_step_and_random_state(micro: Loaded, trained: torch.nn.Module) -> None:
    first = Evaluator(micro, TASK, PLAN, 12).run(trained, 0)
    torch.manual_seed(99)
    second = Evaluator(micro, TASK, PLAN, 12).run(trained, 7)

    assert first.values == second.values
    assert [r.text for r in first.responses] == [r.text for r in second.responses]


class CapturedLike(Decoder):
    """The decoder of a CPU in the place of captured steps."""

    is_captured = True


@each_case(("dtype", "values"), [(torch.bfloat16, {CAPTURED: 1.0}), (torch.float32, {})], ids=str)
def test_evaluation_by_captured_steps_is_marked_where_it_rounds(
    micro: Loaded, dtype: torch.dtype, values: dict[str, float]
) -> None:
    loaded = dataclasses.replace(micro, model=copy.deepcopy(micro.model).to(dtype), dtype=dtype)
    evaluator = Evaluator(loaded, make(TaskConfig()), EvaluationConfig(prompts=1, samples=0), 2)
    for decoder in (CapturedLike(loaded.model, loaded.tokenizer), None):
        marked = evaluator.run(loaded.model, 0, decoder).values
        assert {CAPTURED: marked[CAPTURED]} == values if decoder and values else CAPTURED not in marked


def test_evaluation_leaves_training_state_unchanged(micro: Loaded, trained: torch.nn.Module) -> None:
    evaluator = Evaluator(micro, TASK, PLAN, 12)
    trained.train()
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    before = copy.deepcopy(trained.state_dict())

    evaluator.run(trained, 0)

    assert torch.equal(torch.rand(4), expected)
    assert trained.training
    assert all(torch.equal(before[name], value) for name, value in trained.state_dict().items())


def test_training_the_loaded_model_leaves_the_reference_where_it_was(micro: Loaded, trained: torch.nn.Module) -> None:
    loaded = copy.copy(micro)
    object.__setattr__(loaded, "model", copy.deepcopy(micro.model))
    evaluator = Evaluator(loaded, TASK, PLAN, 12)

    loaded.model.load_state_dict(trained.state_dict())

    assert evaluator.run(loaded.model, 1).values["kl"] > 0


def test_answer_length_follows_training_unless_configured(micro: Loaded) -> None:
    as_in_training = Evaluator(micro, TASK, PLAN, 3).run(micro.model, 0)
    longer = Evaluator(micro, TASK, EvaluationConfig(prompts=6, samples=0, max_new_tokens=5), 3).run(micro.model, 0)

    assert max(r.tokens for r in as_in_training.responses) == 3
    assert max(r.tokens for r in longer.responses) == 5


def test_a_reward_that_fails_is_never_a_number(micro: Loaded) -> None:
    class Broken:
        name = "broken"

        def examples(self, split: str) -> list[Example]:
            return list(TASK.examples("eval"))

        def score(self, example: Example, completion: str) -> Score:
            return Score(float("nan"))

    with pytest.raises(RewardFailed, match=TASK.examples("eval")[0].id):
        Evaluator(micro, Broken(), PLAN, 4).run(micro.model, 0)
