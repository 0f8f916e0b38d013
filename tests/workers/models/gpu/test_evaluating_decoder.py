"""The decoder of evaluations answers by captured steps as the one on a CPU does, each prompt by itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.workers.models.shapes import ARCHITECTURES
from workers.models import Loaded
from workers.models.decoder import Decoder, evaluating_decoder, has_captured_steps
from workers.models.decoder.gpu import CapturedDecoder, JoinedWeights, batch, decoder
from workers.models.decoder.shape import shape_of

PROMPTS = [[5, 6, 70, 80], [5, 6, 9], [5, 6, 70, 80, 10, 11, 12], [5, 6, 1], [5, 6, 400, 33]]
LONGEST, SEED = 2, 11

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def few_steps_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreted step takes a second, also for rows that have ended."""
    monkeypatch.setattr(batch, "STEPS_A_LOOK", 2)


@pytest.fixture
def pair(micro: Loaded, kernel_device: torch.device) -> tuple[Decoder, CapturedDecoder]:
    """Return decoders of equal models of one layer: on a CPU, and by captured steps."""
    make = ARCHITECTURES["tied qwen2"]
    on_cpu = Decoder(make(micro.tokenizer, num_hidden_layers=1), micro.tokenizer)
    return on_cpu, CapturedDecoder(make(micro.tokenizer, num_hidden_layers=1).to(kernel_device), micro.tokenizer)


def test_greedy_responses_equal_those_of_the_decoder_on_a_cpu(pair: Any) -> None:
    on_cpu, captured = pair
    assert captured.greedy(PROMPTS, 3) == on_cpu.greedy(PROMPTS, 3)
    assert captured.greedy([], 3) == []


def test_samples_equal_those_of_the_decoder_on_a_cpu(pair: Any) -> None:
    on_cpu, captured = pair
    expected = on_cpu.sample(PROMPTS, LONGEST, 1.5, SEED)
    assert captured.sample(PROMPTS, LONGEST, 1.5, SEED) == expected
    assert expected != on_cpu.greedy(PROMPTS, LONGEST)
    assert captured.sample(PROMPTS[:2], 1, 0.7, SEED) == on_cpu.sample(PROMPTS[:2], 1, 0.7, SEED)


def test_a_response_depends_on_its_prompt_alone(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer prompts, another order, longer ones beside them and less room for keys and values change no response."""
    _, captured = pair
    prompts, expected = PROMPTS[:3], captured.greedy(PROMPTS[:3], 2)
    steps = captured._batch._captured
    assert (steps.answer_sizes, steps.read_sizes) == ([decoder.ROWS], [decoder.READ_ROWS])
    assert captured.greedy(prompts[1::-1], 2) == expected[1::-1]
    assert captured._batch._captured is steps
    monkeypatch.setattr(decoder, "evaluated_responses", lambda responses, response_bytes: 1)
    assert captured.greedy([[7] * 15, *prompts[1:]], 2)[1:] == expected[1:]
    assert captured._batch._responses == 1 and captured._batch._captured is not steps


def test_decoder_follows_weights_that_are_written_or_moved(pair: Any) -> None:
    on_cpu, captured = pair
    before = captured.greedy(PROMPTS[:2], LONGEST)
    for model in (on_cpu.model, captured.model):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                generator = torch.Generator().manual_seed(len(name))
                parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter) * 0.5)
    assert captured.greedy(PROMPTS[:2], LONGEST) == on_cpu.greedy(PROMPTS[:2], LONGEST) != before
    # As somebody does who joins the model's tensors once more.
    with torch.no_grad():
        JoinedWeights(dict(captured.model.named_parameters()), shape_of(captured.model))
        for model in (on_cpu.model, captured.model):
            model.get_parameter("model.layers.0.self_attn.q_proj.weight").mul_(-3)
    assert captured.greedy(PROMPTS[:2], LONGEST) == on_cpu.greedy(PROMPTS[:2], LONGEST)


def test_first_copy_is_the_model_itself(micro: Loaded) -> None:
    model = ARCHITECTURES["llama with biases"](micro.tokenizer)
    weights = JoinedWeights(dict(model.named_parameters()), shape_of(model), copies=3)
    first, parameters = weights.first_copy(), dict(model.named_parameters())
    assert first.holds(parameters) and weights.holds(parameters) and first.copies == 1
    assert all(len(matrix) == 1 for matrix in first.matrices.values())
    other = ARCHITECTURES["llama with biases"](micro.tokenizer)
    assert not first.holds(dict(other.named_parameters()))


def test_evaluations_on_a_cpu_need_no_captured_steps(micro: Loaded) -> None:
    assert not has_captured_steps(micro.model)
    assert type(evaluating_decoder(micro.model, micro.tokenizer)) is Decoder
