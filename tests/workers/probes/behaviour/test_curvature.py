"""Curvature along a change of weights, against the exact Hessian of a small model and finite differences."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import GenerationConfig, Qwen2Config

from tests.workers.probes.behaviour.checkpoints import (
    PROMPTS,
    changed,
    config_of,
    never_stops,
    prompted,
    subject_of,
    weights,
    with_noise,
)
from workers.engines.stop import Interrupted, Stop
from workers.models import Loaded
from workers.models.native import build_native
from workers.probes.behaviour import curvature
from workers.probes.behaviour.curvature import BATCH_TOKENS, batches, quadratic_form, random_direction
from workers.probes.behaviour.stored_responses import Continuation, stored_responses
from workers.records import RecordWriter, Response

Exact = tuple[Tensor, dict[str, slice]]
"""The Hessian of all parameters together, and the place of each tensor in it."""
CONTINUATIONS = [
    Continuation([1, 5, 2], [7, 3, 10, 0]),
    Continuation([4, 4], [9]),
    Continuation([8, 1, 1, 6, 3], [2, 12]),
]


def small_model() -> Any:
    """Return a model with all parts of Qwen2 and 536 parameters, in float64, with large random weights."""
    config = Qwen2Config(
        vocab_size=13,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    )
    shapes = {
        "model.embed_tokens.weight": (13, 8),
        "model.layers.0.self_attn.q_proj.weight": (8, 8),
        "model.layers.0.self_attn.q_proj.bias": (8,),
        "model.layers.0.self_attn.k_proj.weight": (4, 8),
        "model.layers.0.self_attn.k_proj.bias": (4,),
        "model.layers.0.self_attn.v_proj.weight": (4, 8),
        "model.layers.0.self_attn.v_proj.bias": (4,),
        "model.layers.0.self_attn.o_proj.weight": (8, 8),
        "model.layers.0.mlp.gate_proj.weight": (8, 8),
        "model.layers.0.mlp.up_proj.weight": (8, 8),
        "model.layers.0.mlp.down_proj.weight": (8, 8),
        "model.layers.0.input_layernorm.weight": (8,),
        "model.layers.0.post_attention_layernorm.weight": (8,),
        "model.norm.weight": (8,),
    }
    generator = torch.Generator().manual_seed(0)
    tensors = {n: 0.6 * torch.randn(s, generator=generator, dtype=torch.float64) for n, s in shapes.items()}
    model = build_native(config, GenerationConfig(), tensors)
    assert model is not None
    return model.requires_grad_(True)


def mean_loss(model: Any, parameters: dict[str, Tensor], continuations: list[Continuation]) -> Tensor:
    """Return the mean negative log-likelihood of a response token, response by response, without padding."""
    total, tokens = torch.zeros((), dtype=torch.float64), 0
    for c in continuations:
        logits = functional_call(model, parameters, (torch.tensor([c.prompt + c.response]),)).logits[0]
        predicting = logits[len(c.prompt) - 1 : -1]
        total = total + functional.cross_entropy(predicting.double(), torch.tensor(c.response), reduction="sum")
        tokens += len(c.response)
    return total / tokens


@pytest.fixture(scope="module")
def exact() -> Exact:
    """The exact Hessian of the small model."""
    return exact_hessian(small_model())


def exact_hessian(model: Any) -> Exact:
    """Return the Hessian of all parameters together, and the place of each tensor in it."""
    named = {name: p.detach() for name, p in model.named_parameters()}
    places, start = {}, 0
    for name, p in named.items():
        places[name] = slice(start, start + p.numel())
        start += p.numel()

    def loss(flat: Tensor) -> Tensor:
        tensors = {name: flat[place].view_as(named[name]) for name, place in places.items()}
        return mean_loss(model, tensors, CONTINUATIONS)

    flat = torch.cat([p.flatten() for p in named.values()])
    with sdpa_kernel(SDPBackend.MATH):
        hessian: Tensor = torch.autograd.functional.hessian(loss, flat, vectorize=True)
    return hessian, places


def unit(model: Any, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    parts = {n: torch.randn(p.shape, generator=generator, dtype=p.dtype) for n, p in model.named_parameters()}
    norm = math.sqrt(sum(float(part.square().sum()) for part in parts.values()))
    return {name: part / norm for name, part in parts.items()}


@pytest.mark.parametrize("batch_tokens", [BATCH_TOKENS, 1])
def test_parts_are_those_of_the_exact_hessian(exact: Exact, batch_tokens: int) -> None:
    model = small_model()
    hessian, places = exact
    direction = unit(model, 1)
    v = torch.cat([direction[name].flatten() for name in places])
    expected = {name: float(v[place] @ (hessian @ v)[place]) for name, place in places.items()}

    parts = quadratic_form(model, direction, CONTINUATIONS, never_stops, batch_tokens)

    print({name: (round(parts[name], 6), round(value, 6)) for name, value in expected.items()})
    assert parts == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert sum(parts.values()) == pytest.approx(float(v @ hessian @ v), rel=1e-5)


def test_random_directions_have_the_mean_that_the_trace_gives(exact: Exact) -> None:
    """E[u_l · (H u)_l] = ‖v_l‖² tr(H_ll) / n_l for a Gaussian direction with the norm of v_l in tensor l."""
    model = small_model()
    hessian, places = exact
    norms = {name: 0.1 * (1 + i) for i, name in enumerate(places)}
    expected = {n: norms[n] ** 2 * float(hessian[p, p].trace()) / (p.stop - p.start) for n, p in places.items()}

    draws = []
    for seed in range(1, 226):
        direction = random_direction(model, norms, seed)
        assert {n: float(d.norm()) for n, d in direction.items()} == pytest.approx(norms)
        u = torch.cat([direction[name].flatten() for name in places])
        draws.append(torch.stack([u[p] @ (hessian @ u)[p] for p in places.values()]))

    measured = torch.stack(draws)
    errors = measured.std(dim=0) / 15
    z = [(float(m) - e) / float(s) for m, e, s in zip(measured.mean(dim=0), expected.values(), errors, strict=True)]
    print("z of 14 tensors:", [round(x, 1) for x in z])
    assert max(map(abs, z)) < 4


def test_a_direction_in_some_tensors_leaves_the_others_out(exact: Exact) -> None:
    model = small_model()
    hessian, places = exact
    name = "model.layers.0.mlp.up_proj.weight"
    v = unit(model, 2)[name]

    parts = quadratic_form(model, {name: v}, CONTINUATIONS, never_stops)

    block = hessian[places[name], places[name]]
    assert parts == {name: pytest.approx(float(v.flatten() @ block @ v.flatten()), rel=1e-4)}


def response(prompt_id: str, step: int, text: str, **changes: Any) -> Response:
    fields = {"split": "eval", "sample": 0, "tokens": 4, "reward": 0.0} | changes
    return Response(step=step, prompt_id=prompt_id, text=text, **fields)


def attempt_with(directory: Path, *epochs: list[Response]) -> Path:
    for epoch, responses in enumerate(epochs):
        with RecordWriter(directory, epoch) as records:
            for record in responses:
                records.write(record)
    return directory


def test_curvature_of_a_run_equals_finite_differences_of_the_gradient(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "tuned", 0.02)
    model = prompted(folder)
    ids = [example.id for example in model.task.examples("eval")[:3]]
    texts = ["a dog", "it is a cat", "no"]
    stored = [response(i, 4, text) for i, text in zip(ids, texts, strict=True)]
    attempt = attempt_with(tmp_path / "attempt", stored)
    before = model.weights_digest()

    (probe,) = curvature(model, subject_of(folder, 5, attempts=[attempt]), 32, 3, 0, never_stops)

    assert model.weights_digest() == before
    total, *tensors = probe.values
    base, tuned = weights(micro.path), weights(folder)
    names = list(dict(micro.model.named_parameters()))
    delta = {name: tuned[name].double() - base[name].double() for name in names}
    norm = math.sqrt(sum(float(d.square().sum()) for d in delta.values()))
    end = micro.tokenizer.eos_token_id
    continuations = []
    for example, text in zip(model.examples, texts, strict=False):
        answer = micro.tokenizer(text, add_special_tokens=False)["input_ids"]
        continuations.append(Continuation(model.format.ids(example.messages), [*answer, end]))

    def gradients(t: float) -> dict[str, Tensor]:
        moved = {n: (tuned[n].double() + t * delta[n] / norm).requires_grad_(True) for n in names}
        loss = mean_loss(micro.model, moved, continuations)
        return dict(zip(names, torch.autograd.grad(loss, list(moved.values())), strict=True))

    step = 1e-2
    high, low = gradients(step), gradients(-step)
    expected = {n: float(((high[n] - low[n]) / (2 * step) * delta[n] / norm).sum()) for n in names}
    print("total", total.value, "finite differences", sum(expected.values()), "null", total.null_low, total.null_high)
    assert {v.tensor: v.value for v in tensors} == pytest.approx(expected, rel=0.01, abs=2e-5)
    assert total.value == pytest.approx(sum(expected.values()), rel=0.01)
    assert total.value == pytest.approx(math.fsum(v.value for v in tensors), rel=1e-12)
    assert (probe.subject, probe.other, probe.measure, total.tensor) == ("run@5", "run@4", "curvature", "")
    assert {v.n for v in probe.values} == {sum(len(c.response) for c in continuations)}
    for value in probe.values:
        assert value.null is not None
        assert value.null_low is not None
        assert value.null_low < value.null < (value.null_high or 0)


def test_sixteen_bits_are_differentiated_in_float32(micro: Loaded, tmp_path: Path) -> None:
    """The weights are the float32 master's, whatever the precision of the model that answers."""
    folder = with_noise(micro, tmp_path / "tuned", 0.02, dtype=torch.bfloat16)
    ids = [example.id for example in prompted(folder).task.examples("eval")[:2]]
    attempt = attempt_with(tmp_path / "attempt", [response(i, 5, "it is a cat") for i in ids])
    subject = subject_of(folder, attempts=[attempt])

    (wide,), (narrow,) = (
        curvature(prompted(folder, config_of(dtype=dtype)), subject, 8, 2, 0, never_stops)
        for dtype in ("float32", "bfloat16")
    )

    assert narrow == wide
    assert narrow.values[0].value != 0


def test_the_latest_stored_responses_up_to_the_step_count(tmp_path: Path) -> None:
    first = attempt_with(
        tmp_path / "1",
        [response("a", 2, "old"), response("b", 4, "train", split="train"), response("b", 4, "drawn", sample=1)],
        [response("a", 4, "lost"), response("b", 4, "earlier"), response("a", 6, "later")],
    )
    second = attempt_with(tmp_path / "2", [response("a", 4, "newest")])
    with (second / "records.0.jsonl").open("ab") as torn:
        torn.write(b'{"seq":9,"kind":"response","step":4')

    step, responses = stored_responses([first, second], 5)

    assert (step, {r.prompt_id: r.text for r in responses}) == (4, {"a": "newest", "b": "earlier"})
    assert stored_responses([first, second], 3)[0] == 2
    assert stored_responses([first, second], 1) == (0, [])


def test_responses_to_prompts_of_other_tasks_are_generated_anew(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "tuned", 0.02)
    model = prompted(folder)
    attempt = attempt_with(tmp_path / "attempt", [response("of another task", 5, "text")])

    (probe,) = curvature(model, subject_of(folder, 7, attempts=[attempt]), 4, 2, 0, never_stops)

    own = sum(len(answer.completion.tokens) for answer in model.greedy()[:4])
    assert PROMPTS > 4
    assert (probe.other, probe.values[0].n) == ("run@7", own)


def test_a_cut_off_response_has_no_end_token(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "tuned", 0.02)
    model = prompted(folder)
    a, b = (example.id for example in model.task.examples("eval")[:2])
    attempt = attempt_with(
        tmp_path / "attempt", [response(a, 5, "a dog", parts={"clipped": 1.0}), response(b, 5, "a dog")]
    )

    (probe,) = curvature(model, subject_of(folder, attempts=[attempt]), 4, 2, 0, never_stops)

    tokens = micro.tokenizer("a dog", add_special_tokens=False)["input_ids"]
    assert probe.values[0].n == 2 * len(tokens) + 1


def test_weights_without_a_change_have_no_direction(micro: Loaded, capsys: pytest.CaptureFixture[str]) -> None:
    model = prompted(micro.path)

    assert not list(curvature(model, subject_of(micro.path), 4, 2, 0, never_stops))
    assert "its weights equal those of its base model" in capsys.readouterr().out
    assert not list(curvature(model, subject_of(micro.path, base=None), 4, 2, 0, never_stops))
    assert "its base model is not known" in capsys.readouterr().out


def test_tensors_without_a_change_are_left_out(micro: Loaded, tmp_path: Path) -> None:
    folder = changed(micro, tmp_path / "tuned", lambda name, p: p + 0.01 if name == "model.norm.weight" else p)

    (probe,) = curvature(prompted(folder), subject_of(folder), 4, 2, 0, never_stops)

    assert [v.tensor for v in probe.values] == ["", "model.norm.weight"]
    assert json.dumps([v.value for v in probe.values]).count("NaN") == 0


def test_batches_are_bounded_and_complete() -> None:
    sizes = [5, 900, 1200, 3000, 40, 41]
    continuations = [Continuation([1], [2] * (size - 1)) for size in sizes]

    cut = list(batches(continuations))

    assert sorted(len(c.response) + 1 for batch in cut for c in batch) == sorted(sizes)
    for batch in cut:
        longest = max(len(c.response) + 1 for c in batch)
        assert len(batch) == 1 or longest * len(batch) <= BATCH_TOKENS


def test_a_stop_ends_it_between_batches(micro: Loaded, tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    folder = with_noise(micro, tmp_path / "tuned", 0.02)
    with pytest.raises(Interrupted):
        list(curvature(prompted(folder), subject_of(folder), 4, 2, 0, stop.check))
