"""Continuous batches answer as the decoder on a CPU does, with any members in a step and any order of refills."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.workers.models.shapes import ARCHITECTURES
from tests.workers.models.test_decoder_population import RANK, noise
from workers.models import Loaded
from workers.models.decoder import Decoder, LowRank, Stacked
from workers.models.decoder.gpu import (
    CapturedStep,
    ContinuousBatch,
    JoinedWeights,
    MemberTerms,
    Query,
    Sizes,
    Step,
    batch,
    common_beginning,
    rotary_tables,
    slots_for,
)
from workers.models.decoder.gpu.captured import size_for, sizes_up_to
from workers.models.decoder.shape import shape_of

PROMPTS = [[5, 6, 70, 80], [5, 6, 9], [5, 6, 70, 80, 10, 11, 12], [5, 6, 1], [5, 6, 400, 33]]
MEMBERS, LONGEST, COLUMNS = 2, 4, 16
VARIED = pytest.mark.parametrize(
    "name",
    ["llama with biases", *(pytest.param(name, marks=pytest.mark.soak) for name in ("tied qwen2", "gemma2", "gemma3"))],
)
"""What is special about each architecture in a single step, test_step.py shows for all of them."""

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def few_steps_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreted step takes a second, also for rows that have ended."""
    monkeypatch.setattr(batch, "STEPS_A_LOOK", 2)


def batch_of(model: Any, terms: MemberTerms | None, weights: JoinedWeights, ends: list[int], rows: int = 4) -> Any:
    """Return a continuous batch of few rows, so that slots are refilled, which reads a few tokens per step."""
    shape, members = shape_of(model), terms.members if terms else weights.copies
    tables = rotary_tables(shape, model.model.rotary_emb, COLUMNS, weights.tensors[shape.embed])
    sizes = Sizes(rows, 8, slots_for(rows, members), COLUMNS, LONGEST)
    step = Step(shape, weights, terms, tables, torch.tensor(ends, device=model.device), sizes)
    return ContinuousBatch(CapturedStep(step), members)


def answers_of(batch: ContinuousBatch, queue: list[Query], beginning: int) -> list[list[int]]:
    """Return the tokens of each answer in the order of the queue."""
    answers = {answer.index: answer.tokens for some in batch.answers([queue], beginning) for answer in some}
    assert sorted(answers) == list(range(len(queue)))
    return [answers[position] for position in range(len(queue))]


@VARIED
def test_members_answer_as_on_a_cpu_when_slots_are_refilled(
    micro: Loaded, name: str, kernel_device: torch.device
) -> None:
    model = ARCHITECTURES[name](micro.tokenizer)
    factors, vectors, _ = noise(model)
    factors = {name: (a[:MEMBERS], b[:MEMBERS]) for name, (a, b) in factors.items()}
    vectors = {name: vector[:MEMBERS] for name, vector in vectors.items()}
    expected = Decoder(model, micro.tokenizer).population(
        LowRank(dict(model.named_parameters()), shape_of(model), factors, vectors), PROMPTS, LONGEST
    )
    assert len({tuple(answer.tokens) for member in expected for answer in member}) > MEMBERS
    model.to(kernel_device)
    with torch.no_grad():
        weights = JoinedWeights(dict(model.named_parameters()), shape_of(model))
        terms = MemberTerms(weights, shape_of(model), MEMBERS, RANK, set(factors), set(vectors))
        terms.load(
            {name: (a.to(kernel_device), b.to(kernel_device)) for name, (a, b) in factors.items()},
            {name: vector.to(kernel_device) for name, vector in vectors.items()},
        )
        members = batch_of(model, terms, weights, [micro.tokenizer.eos_token_id])
        queue = [Query(member, ids, LONGEST) for member in range(MEMBERS) for ids in PROMPTS]
        answers = answers_of(members, queue, common_beginning(PROMPTS))
    assert answers == [answer.tokens for member in expected for answer in member]


@VARIED
def test_weight_copies_answer_members_in_turn_as_on_cpu(micro: Loaded, name: str, kernel_device: torch.device) -> None:
    """Three members on two copies of two rows each: rows are refilled, and so is the copy that is done first."""
    model = ARCHITECTURES[name](micro.tokenizer)
    shape, (_, _, full) = shape_of(model), noise(model)
    full = {name: members[:3] for name, members in full.items()}
    queues = [PROMPTS, PROMPTS[:2], PROMPTS[1:]]
    answers = Decoder(model, micro.tokenizer).population(Stacked(dict(full), shape), PROMPTS, LONGEST)
    expected = [answers[member][PROMPTS.index(ids)].tokens for member, some in enumerate(queues) for ids in some]
    assert len({tuple(answer.tokens) for member in answers for answer in member}) > 3
    model.to(kernel_device)
    written = []
    with torch.no_grad():
        weights = JoinedWeights(dict(model.named_parameters()), shape, copies=2)
        copies = batch_of(model, None, weights, [micro.tokenizer.eos_token_id])

        def write(member: int, copy: int) -> None:
            written.append((member, copy))
            for name, tensor in weights.of_copy(copy).items():
                tensor.copy_(full[name][member])

        queries = [[], *([Query(0, ids, LONGEST) for ids in some] for some in queues)]
        some = copies.answers(queries, common_beginning(PROMPTS), lambda queue, copy: write(queue - 1, copy))
        by_position = {answer.index: answer.tokens for ended in some for answer in ended}
    assert [by_position[position] for position in range(len(expected))] == expected
    assert written == [(0, 0), (1, 1), (2, 1)]


@pytest.fixture
def plain(micro: Loaded, kernel_device: torch.device) -> Any:
    """Return a model of one layer, its weights, its answers on a CPU and its end tokens."""
    model = ARCHITECTURES["tied qwen2"](micro.tokenizer, num_hidden_layers=1)
    decoder = Decoder(model, micro.tokenizer)
    expected = [answer.tokens for answer in decoder.greedy(PROMPTS, LONGEST)]
    model.to(kernel_device)
    with torch.no_grad():
        weights = JoinedWeights(dict(model.named_parameters()), shape_of(model))
        yield model, weights, expected, [micro.tokenizer.eos_token_id]


def test_each_answer_ends_at_its_own_limit(plain: Any) -> None:
    model, weights, expected, ends = plain
    limits = [1, 3, 2, 4, 4]
    queue = [Query(0, ids, limit) for ids, limit in zip(PROMPTS, limits, strict=True)]
    answers = answers_of(batch_of(model, None, weights, ends), queue, 0)
    assert answers == [tokens[:limit] for tokens, limit in zip(expected, limits, strict=True)]


def test_an_answer_ends_with_its_end_token(plain: Any) -> None:
    model, weights, expected, ends = plain
    end = expected[0][1]
    cut = [tokens[: tokens.index(end) + 1] if end in tokens else tokens for tokens in expected]
    assert cut != expected
    queue = [Query(0, ids, LONGEST) for ids in PROMPTS]
    assert answers_of(batch_of(model, None, weights, [*ends, end]), queue, 2) == cut


def test_a_batch_answers_one_queue_after_another(plain: Any) -> None:
    model, weights, expected, ends = plain
    same, queue = batch_of(model, None, weights, ends, rows=2), [Query(0, ids, LONGEST) for ids in PROMPTS]
    assert answers_of(same, queue[:1:-1], 1) == expected[:1:-1]
    assert answers_of(same, queue[:3], 2) == expected[:3]
    assert answers_of(same, [], 0) == []


def test_matrices_without_factors_use_model_weights(plain: Any) -> None:
    model, weights, expected, ends = plain
    shape = shape_of(model)
    name = shape.layers[0].qkv.weights[1]
    out, width = model.get_parameter(name).shape
    terms = MemberTerms(weights, shape, 1, 2, {name}, set())
    queue, generator = [Query(0, ids, LONGEST) for ids in PROMPTS], torch.Generator().manual_seed(1)
    a, b = (torch.randn(1, size, 2, generator=generator).to(model.device) for size in (out, width))
    terms.load({name: (a, b)}, {})
    member = batch_of(model, terms, weights, ends)
    assert answers_of(member, queue, 2) != expected
    terms.load({}, {})
    assert answers_of(member, queue, 2) == expected


@pytest.mark.parametrize(
    ("queries", "beginning", "message"),
    [
        ([Query(0, [5, 6], 1), Query(0, [5, 6, 7], 1)], 2, "tokens of its own after the common prefix"),
        ([Query(0, [5] * 14, 4)], 0, "a prompt may have at most 13 tokens, not 14"),
        ([Query(1, [5, 6], 4)], 0, "member must be below 1, not 1"),
        ([Query(0, [5, 6], 5)], 0, "a response may have 1 to 4 tokens, not 5"),
    ],
)
def test_query_too_large_for_buffers_is_refused(plain: Any, queries: list[Query], beginning: int, message: str) -> None:
    model, weights, _, ends = plain
    with pytest.raises(ValueError, match=message):
        answers_of(batch_of(model, None, weights, ends), queries, beginning)


def test_a_prompt_may_fill_all_columns(plain: Any) -> None:
    model, weights, _, ends = plain
    (answer,) = answers_of(batch_of(model, None, weights, ends), [Query(0, [5] * COLUMNS, 1)], 0)
    assert len(answer) == 1


def test_members_need_slots_for_their_beginnings(plain: Any) -> None:
    model, weights, _, ends = plain
    captured = batch_of(model, None, weights, ends)._captured
    with pytest.raises(ValueError, match="4 rows of 2 members need 7 slots"):
        ContinuousBatch(captured, 2)


def test_copies_of_the_weights_need_equal_parts_of_the_rows(plain: Any) -> None:
    model, _, _, ends = plain
    two = JoinedWeights(dict(model.named_parameters()), shape_of(model), copies=2)
    with pytest.raises(ValueError, match="3 rows of 2 members do not make 2 equal parts"):
        batch_of(model, None, two, ends, rows=3)


def test_common_beginning_leaves_each_prompt_a_token() -> None:
    assert common_beginning(PROMPTS) == 2
    assert common_beginning([[1, 2, 3], [1, 2, 3]]) == 2
    assert common_beginning([[7], [7, 8]]) == 0


def test_sizes_of_steps_rise_to_the_largest() -> None:
    assert sizes_up_to(8) == [8]
    assert sizes_up_to(200) == [16, 32, 64, 128, 192, 200]
    assert sizes_up_to(1024)[-5:] == [256, 384, 512, 768, 1024]
    assert size_for(129, sizes_up_to(200)) == 192
