"""The likelihood of the right answer against sums done by hand, and what evaluations record of it."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from workers.config import ChoiceOptions, ConcisenessOptions, CountdownOptions, EvaluationConfig, TaskConfig
from workers.corpus import EVAL_FACTS
from workers.evaluation import Evaluator, likelihood, token_batches
from workers.evaluation.likelihood import Candidates, candidates_of, likelihoods, mean_log_probabilities
from workers.models import Loaded, PromptFormat
from workers.models.decoder import Decoder
from workers.tasks import make
from workers.tasks.choice import Choice
from workers.tasks.conciseness import Conciseness
from workers.tasks.countdown import Countdown

PLAN = EvaluationConfig(prompts=6, samples=1)
TASK = make(TaskConfig())
KEYS = ("accuracy/prefers_right", "likelihood/margin", "likelihood/prompts")
PARTS = ("right_likelihood", "wrong_likelihood", "prefers_right")


class Bigram(nn.Module):
    """Predicts the next token from the last one alone: row t of the table holds the logits after token t."""

    def __init__(self, probabilities: list[list[float]]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(probabilities).log())
        self.config = SimpleNamespace(vocab_size=self.table.shape[1])

    def forward(self, input_ids: Tensor, use_cache: bool, logits_to_keep: int) -> SimpleNamespace:
        return SimpleNamespace(logits=self.table[input_ids][:, -logits_to_keep:])


MODEL = Bigram([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.3, 0.5]])


def test_score_is_the_mean_log_probability_of_the_candidate_alone() -> None:
    scores = mean_log_probabilities(MODEL, [[2, 0], [1], [0, 0, 1]], [[1, 2], [0], [2, 2, 1]])

    by_hand = [(math.log(0.25) + math.log(0.8)) / 2, math.log(0.1), (math.log(0.8) + math.log(0.5) + math.log(0.3)) / 3]
    assert scores == pytest.approx(by_hand, abs=1e-6)


def test_likeliest_wrong_answer_is_compared() -> None:
    prompts = [[0], [1], [2]]
    answers = [Candidates([1], ([0], [2])), None, Candidates([2], ([0], [1, 2]))]

    first, second, third = likelihoods(MODEL, prompts, answers)

    assert first is not None and second is None and third is not None
    assert (first.right, first.wrong) == pytest.approx((math.log(0.25), math.log(0.5)))
    assert (first.prefers_right, first.margin) == (False, pytest.approx(math.log(0.5)))
    assert third.wrong == pytest.approx((math.log(0.3) + math.log(0.8)) / 2)


def test_equal_likelihood_prefers_nothing() -> None:
    (tie,) = likelihoods(MODEL, [[0]], [Candidates([1], ([2],))])

    assert tie is not None and tie.margin == 0 and not tie.prefers_right


def test_small_batches_change_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, answers = [[2, 0], [1], [0, 0, 1]], [[1, 2], [0], [2, 2, 1]]
    expected = mean_log_probabilities(MODEL, prompts, answers)
    monkeypatch.setattr(token_batches, "LOGITS_BYTES", 1)
    monkeypatch.setattr(token_batches, "BLOCK_BYTES", 1)

    assert mean_log_probabilities(MODEL, prompts, answers) == pytest.approx(expected, abs=1e-9)


def test_greedy_responses_record_the_likelihood(micro: Loaded) -> None:
    evaluation = Evaluator(micro, TASK, PLAN, 4).run(micro.model, 0)

    greedy, sampled = evaluation.responses[:6], evaluation.responses[6:]
    assert all(set(PARTS) <= response.parts.keys() for response in greedy)
    assert not any(set(PARTS) & response.parts.keys() for response in sampled)
    margins = [response.parts["right_likelihood"] - response.parts["wrong_likelihood"] for response in greedy]
    assert evaluation.values["likelihood/margin"] == pytest.approx(sum(margins) / 6)
    assert evaluation.values["accuracy/prefers_right"] == pytest.approx(sum(margin > 0 for margin in margins) / 6)
    assert evaluation.values["likelihood/prompts"] == 6


def test_scores_are_those_of_transformers(micro: Loaded, micro_of_transformers: Loaded) -> None:
    prompts, example = PromptFormat(micro.tokenizer), TASK.examples("eval")[0]
    candidates = candidates_of(TASK, example, prompts)
    assert candidates is not None

    (ours,) = likelihoods(micro.model, [prompts.ids(example.messages)], [candidates])

    ids = torch.tensor([[*prompts.ids(example.messages), *candidates.right]])
    reference = micro_of_transformers.model
    with torch.no_grad():
        logits = reference(input_ids=ids).logits[0, -len(candidates.right) - 1 : -1].float().log_softmax(-1)
    expected = logits.gather(1, ids[0, -len(candidates.right) :, None]).mean()
    assert ours is not None and ours.right == pytest.approx(float(expected), abs=1e-4)
    assert micro.tokenizer.decode(candidates.right) == example.target


def test_evaluation_without_the_model_has_no_likelihood(micro: Loaded) -> None:
    evaluator = Evaluator(micro, TASK, PLAN, 4)
    decoder = Decoder(micro.model, micro.tokenizer)
    evaluator.drop_base()

    without = evaluator.run(None, 0, decoder)
    values = evaluator.run(micro.model, 0, decoder).values

    assert not any(key in without.values for key in KEYS)
    assert not any(set(PARTS) & response.parts.keys() for response in without.responses)
    assert all(key in values for key in KEYS) and "kl" not in values


def test_likelihood_leaves_training_and_random_streams_alone(micro: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    model = copy.deepcopy(micro.model).train()
    state = torch.random.get_rng_state()

    evaluation = Evaluator(micro, TASK, PLAN, 4).run(model, 0)
    monkeypatch.setattr(likelihood, "candidates_of", lambda *_: None)
    monkeypatch.setattr("workers.evaluation.evaluator.candidates_of", lambda *_: None)
    without = Evaluator(micro, TASK, PLAN, 4).run(model, 0)

    assert model.training and torch.equal(torch.random.get_rng_state(), state)
    assert [r.text for r in evaluation.responses] == [r.text for r in without.responses]
    assert without.values.items() <= evaluation.values.items()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_wrong_answers_are_of_the_kind_of_the_right_one() -> None:
    task = Conciseness(ConcisenessOptions())
    for fact, example in zip(EVAL_FACTS, task.examples("eval"), strict=True):
        wrong = task.wrong_answers(example)
        assert len(set(wrong)) == 3 and fact.answer not in wrong
        assert not any(task.score(example, text).parts["right"] for text in wrong)


def test_options_of_a_choice_are_compared(micro: Loaded) -> None:
    task = Choice(ChoiceOptions())
    example = task.examples("eval")[0]

    assert {*task.wrong_answers(example), example.target} == {"A", "B", "C", "D"}
    assert candidates_of(task, example, PromptFormat(micro.tokenizer)) is not None


def test_prompt_without_wrong_answers_has_no_candidates(micro: Loaded) -> None:
    prompts = PromptFormat(micro.tokenizer)
    task = Countdown(CountdownOptions())

    assert candidates_of(task, task.examples("eval")[0], prompts) is None


def test_answer_after_raw_text_begins_with_a_space(micro: Loaded) -> None:
    prompts, messages = PromptFormat(micro.tokenizer, "text"), ({"role": "user", "content": "Capital of France?"},)

    assert micro.tokenizer.decode(prompts.response_ids(messages, "Paris")) == " Paris"
