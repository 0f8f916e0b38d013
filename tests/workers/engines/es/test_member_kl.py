"""es.kl_beta: a fitness is the mean reward less β · KL from the base model, which float64 logits confirm."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.checkpoints import checkpoint, files, log_lines
from tests.workers.engines.es.population import digest, own_copy
from tests.workers.engines.es.runs import SMALL, Conciseness, learning, records_of, run
from workers import tasks
from workers.config import ConfigError, EsConfig, LoraConfig, ModelConfig, RunConfig, SafetyOptions
from workers.engines.context import Stopped
from workers.engines.es import member_kl
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.fitness import AllDropped
from workers.engines.es.member_kl import KlNotFinite
from workers.engines.es.noise import make_noise
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.rebuild import rebuild
from workers.engines.es.seeds import prompt_subset
from workers.engines.es.trainable import make_trainable
from workers.engines.stop import Stop
from workers.models import Loaded, PromptFormat, load
from workers.models.decoder import Decoder
from workers.records import Alert, Member, Population
from workers.tasks import Example, Score
from workers.tasks.safety import Safety

BETA = 0.7
KINDS: dict[str, dict[str, Any]] = {
    "full": {"noise": "full"},
    "low rank, antithetic": {"noise": "low_rank", "antithetic": True},
    "lora": {"lora": {"rank": 2}},
}


def exact_kl(member: Any, base: Any, prompt: Sequence[int], response: Sequence[int]) -> float:
    """Return KL(member ‖ base) summed over the tokens of a response, from float64 logits of float64 models."""
    ids = torch.tensor([[*prompt, *response]])
    rows = slice(len(prompt) - 1, -1)
    log_p, log_q = (m(input_ids=ids, use_cache=False).logits[0, rows].log_softmax(-1) for m in (member, base))
    assert log_p.dtype == torch.float64 and len(log_p) == len(response)
    return float((log_p.exp() * (log_p - log_q)).sum())


class Recomputed:
    """Reward and KL of members after `step` updates of a run with these options, without the code that trained it."""

    def __init__(self, micro: Loaded, directory: Path, step: int, options: dict[str, Any]) -> None:
        lora = LoraConfig(**options["lora"]) if "lora" in options else None
        self._micro = own_copy(micro)
        self._weights = make_trainable(self._micro, lora, 3)
        if step:
            self._weights.load(checkpoint(directory, step))
        noise = make_noise(options.get("noise", "full"))
        self._perturbation = Perturbation(noise, SMALL["sigma"], dict.fromkeys(self._weights.master, 1.0))
        self._base = copy.deepcopy(micro.model).double()
        self._task = tasks.make(RunConfig.from_json({"method": "es", "es": {}}).task)
        examples = self._task.examples("train")
        self._examples = [examples[i] for i in prompt_subset(3, step + 1, SMALL["prompts"], len(examples))]

    def reward_and_kl(self, seed: int) -> tuple[float, float]:
        """Return the mean reward and the mean KL of a member's greedy responses."""
        self._weights.write(self._perturbation.member(seed, self._weights.master))
        model = self._micro.model
        prompts = [PromptFormat(self._micro.tokenizer).ids(example.messages) for example in self._examples]
        responses = Decoder(model, self._micro.tokenizer).greedy(prompts, SMALL["max_new_tokens"])
        rewards = [self._task.score(e, r.text).reward for e, r in zip(self._examples, responses, strict=True)]
        exact = copy.deepcopy(model).double()
        kls = [exact_kl(exact, self._base, p, r.tokens) for p, r in zip(prompts, responses, strict=True)]
        return math.fsum(rewards) / len(rewards), math.fsum(kls) / len(kls)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
@torch.no_grad()
def test_fitness_is_reward_less_beta_kl(micro: Loaded, tmp_path: Path, options: dict[str, Any]) -> None:
    run(micro, tmp_path, checkpoint_every=1, kl_beta=BETA, **options)
    rows, populations = learning(tmp_path), records_of(tmp_path, Population)
    assert len(populations) == 3
    for step, (row, population) in enumerate(zip(rows, populations, strict=True)):
        recomputed = Recomputed(micro, tmp_path, step, options)
        for member in population.members:
            reward, kl = recomputed.reward_and_kl(member.seed)
            assert member.parts["kl"] == pytest.approx(kl, rel=1e-4)
            assert member.parts["reward"] == pytest.approx(reward, abs=1e-12)
            assert member.reward == pytest.approx(reward - BETA * kl, rel=1e-4)
            assert member.reward == member.parts["reward"] - BETA * member.parts["kl"]
        check_row(row, population.members)


def check_row(row: dict[str, float], members: Sequence[Member]) -> None:
    """Check the metrics of an iteration and each z against the members' fitness."""
    kls, fitness = [m.parts["kl"] for m in members], [m.reward for m in members]
    mean = math.fsum(fitness) / len(fitness)
    std = math.sqrt(math.fsum((f - mean) ** 2 for f in fitness) / len(fitness))
    assert all(kl > 0 for kl in kls) and len(set(kls)) == len(kls)
    assert row["train/kl/mean"] == pytest.approx(math.fsum(kls) / len(kls), rel=1e-12)
    assert row["train/reward/mean"] == pytest.approx(mean, rel=1e-12)
    assert [m.z for m in members] == pytest.approx([(f - mean) / std for f in fitness], rel=1e-6, abs=1e-6)


def test_beta_changes_the_course_and_0_records_nothing(micro: Loaded, tmp_path: Path) -> None:
    plain = digest(run(micro, tmp_path / "plain"))
    assert digest(run(micro, tmp_path / "penalised", kl_beta=BETA)) != plain
    for population in records_of(tmp_path / "plain", Population):
        assert all("kl" not in member.parts and "reward" not in member.parts for member in population.members)
    assert not any(
        key.startswith("train/kl") or "kl_seconds" in key for row in learning(tmp_path / "plain") for key in row
    )


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_resumed_rebuilt_and_shared_runs_equal_the_straight_one(
    micro: Loaded, tmp_path: Path, options: dict[str, Any]
) -> None:
    options = {"kl_beta": BETA, "anchor_decay": 4.0, "iterations": 4, "checkpoint_every": 2, "rows": 8, **options}
    run(micro, tmp_path / "straight", **options)
    run(micro, tmp_path / "cut", **options | {"iterations": 2})
    run(micro, tmp_path / "cut", **options)
    run(micro, tmp_path / "two", engines=2, **options)
    rebuild(tmp_path / "straight", 4, tmp_path / "rebuilt", from_base=True)
    straight = files(checkpoint(tmp_path / "straight", 4))
    assert files(checkpoint(tmp_path / "cut", 4)) == straight
    assert files(checkpoint(tmp_path / "two", 4)) == straight
    assert files(tmp_path / "rebuilt") == straight
    assert (tmp_path / "two/replay.jsonl").read_bytes() == (tmp_path / "straight/replay.jsonl").read_bytes()
    assert learning(tmp_path / "two") == learning(tmp_path / "straight")
    # The KL of a resumed run is from the base model, not from the checkpoint that it resumed from.
    (again,) = [p for p in records_of(tmp_path / "cut", Population, epoch=1) if p.step == 4]
    assert again == records_of(tmp_path / "straight", Population)[3]


def test_cost_and_kl_are_both_subtracted(micro: Loaded, tmp_path: Path) -> None:
    safety = Safety(SafetyOptions(lambda_init=1.5))
    run(micro, tmp_path, task=safety, iterations=2, kl_beta=BETA)
    for row, population in zip(learning(tmp_path), records_of(tmp_path, Population), strict=True):
        for member in population.members:
            parts = member.parts
            expected = parts["reward"] - row["lambda"] * parts["cost"] - BETA * parts["kl"]
            assert member.reward == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["full", "low_rank", "lora"])
def test_model_holds_the_centre_after_a_member(dtype: Any, kind: Any) -> None:
    loaded = load(ModelConfig(path="micro", device="cpu", dtype=dtype))
    es = EsConfig(sigma=0.05, lora=LoraConfig(rank=2)) if kind == "lora" else EsConfig(sigma=0.05, noise=kind)
    weights = make_trainable(loaded, es.lora, 0)
    perturbation = Perturbation(make_noise(es.noise), es.sigma, dict.fromkeys(weights.master, 1.0))
    backend = DecoderBackEnd(loaded, weights, perturbation, es, 8)
    backend.update({5: 0.01, 6: -0.02})
    before = backend.weights_hash()
    with backend.writing_member(11):
        assert backend.weights_hash() != before
    assert backend.weights_hash() == before
    with pytest.raises(ZeroDivisionError), backend.writing_member(11):
        raise ZeroDivisionError
    assert backend.weights_hash() == before


def test_interrupted_kl_leaves_the_last_iteration(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, calls = Stop(), 0
    measure = member_kl.kl_per_token

    def interrupted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 9:
            stop.set()
        return measure(*args)

    with monkeypatch.context() as patch:
        patch.setattr(member_kl, "kl_per_token", interrupted)
        with pytest.raises(Stopped, match="after iteration 1 of 3"):
            run(micro, tmp_path / "cut", stop=stop, kl_beta=BETA)
    assert calls == 9, "no member is read after the signal"
    run(micro, tmp_path / "one", iterations=1, kl_beta=BETA)
    cut, one = (files(checkpoint(tmp_path / name, 1)) for name in ("cut", "one"))
    assert cut == one
    straight = digest(run(micro, tmp_path / "straight", kl_beta=BETA))
    assert digest(run(micro, tmp_path / "cut", kl_beta=BETA)) == straight


class Fails(Conciseness):
    """Some answers to training prompts have no reward."""

    def score(self, example: Example, completion: str) -> Score:
        if len(completion) % 10 == 3 and example in self.examples("train"):
            raise ZeroDivisionError
        return super().score(example, completion)


def test_dropped_members_have_no_kl(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, Fails(), iterations=8, on_failure="drop_member", kl_beta=BETA)
    dropped = 0
    for row, population in zip(learning(tmp_path), records_of(tmp_path, Population), strict=True):
        left_out = [m for m in population.members if math.isnan(m.reward)]
        dropped += len(left_out)
        assert all(m.parts == {} and m.z is None for m in left_out)
        check_row(row, [m for m in population.members if m not in left_out])
    assert dropped, "a member must be dropped for this to say anything"


def test_kl_that_is_not_finite_fails_the_run(tmp_path: Path) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="float16"))
    with pytest.raises(
        KlNotFinite, match=r"^the KL of member \d+ from the base model is (nan|inf) at prompt .*es\.sigma"
    ):
        run(half, tmp_path, sigma=1000.0, kl_beta=BETA)
    assert [line for line in log_lines(tmp_path) if "step" in line] == []
    assert records_of(tmp_path, Population) == []


def test_members_without_finite_kl_can_be_dropped(tmp_path: Path) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="float16"))
    with pytest.raises(AllDropped):
        run(half, tmp_path, sigma=1000.0, kl_beta=BETA, on_failure="drop_member")
    alerts = [a.message for a in records_of(tmp_path, Alert) if "its logits" in a.message or "KL" in a.message]
    assert len(alerts) == SMALL["population"]
    assert all(message.endswith("so it is left out of the update") for message in alerts)


@pytest.mark.parametrize("value", [-0.1, 2e6])
def test_bad_beta_is_refused_with_the_valid_values(value: float) -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig.from_json({"method": "es", "es": {"kl_beta": value}})
    assert str(refusal.value) == f"es.kl_beta: must be at least 0 and at most 1000000, not {value}"
