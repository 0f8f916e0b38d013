"""The whole program with the real vLLM, on a GPU or a CPU, against the project's own back end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.engines.es.vllm.engines import (
    NEW_TOKENS,
    PROMPTS,
    PYTHON,
    engine_setup,
    our_backend,
    real_engine,
    save_wide_model,
)
from workers.client.processes import tree
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.engine_group import EngineProcess, EngineRefused, EngineSetup
from workers.engines.es.engine_group.wire import Decoding, Kind, Saving, pack_json, pack_seeds, pack_update
from workers.engines.es.lineage import NoiseKind, Origin
from workers.engines.es.replay_log import ReplayLog
from workers.engines.es.state import State
from workers.models import Loaded

pytestmark = pytest.mark.skipif(not PYTHON, reason="ESWEB_VLLM_PYTHON names no interpreter of an environment with vLLM")
SEEDS = [3, -4]
DIRECTIONS, DECAY = {5: 0.01, -6: 0.02}, 0.25
CONTEXT = 400
BF16, CORES = "bfloat16", os.cpu_count() or 1
IS_ON_CPU = not torch.cuda.is_available()


def patience() -> float:
    return PATIENCE_SECONDS


@pytest.fixture(scope="module")
def model(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_wide_model(micro, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def engine(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """An engine whose weights no test changes, in float32, which responds to the prompts."""
    directory = tmp_path_factory.mktemp("engine")
    with real_engine(directory, engine_setup(model, directory, context_tokens=CONTEXT)) as process:
        process.send_prompts(PROMPTS)
        yield process


@pytest.fixture(scope="module")
def ours(model: Path) -> DecoderBackEnd:
    """The project's own back end with the same weights."""
    return our_backend(model)


def test_responses_of_the_centre_equal_those_of_our_decoder(engine: EngineProcess, ours: DecoderBackEnd) -> None:
    (responses,), seconds, phases = engine.answer([], patience)
    with torch.no_grad():
        expected = ours.answer_centre(PROMPTS)
    assert [(r.tokens, r.clipped, r.text) for r in responses] == [(r.tokens, r.clipped, "") for r in expected]
    assert seconds > phases["decode"] > 0.0


def test_responses_of_members_equal_those_of_our_decoder(engine: EngineProcess, ours: DecoderBackEnd) -> None:
    before = engine.weights_hash(patience)
    members, _, phases = engine.answer(SEEDS, patience)
    with torch.no_grad():
        expected = [ours.answer([seed], PROMPTS)[0] for seed in SEEDS]
    assert [[r.tokens for r in member] for member in members] == [[r.tokens for r in member] for member in expected]
    assert members[0] != members[1]
    assert phases["noise"] > 0.0
    assert engine.weights_hash(patience) == before


def test_response_ends_with_its_end_token(model: Path, engine: EngineProcess, ours: DecoderBackEnd) -> None:
    """The end of this engine's responses is a token in the middle of what the other one writes."""
    (responses,), _, _ = engine.answer([], patience)
    end = responses[0].tokens[NEW_TOKENS // 2]
    directory = model.parent
    with real_engine(directory, engine_setup(model, directory, ends=(end,))) as other:
        other.send_prompts(PROMPTS[:1])
        ((response,),), _, _ = other.answer([], patience)
    assert response.tokens == responses[0].tokens[: responses[0].tokens.index(end) + 1]
    assert not response.clipped


def test_scores_are_those_of_the_raw_logits(engine: EngineProcess, ours: DecoderBackEnd) -> None:
    for prompt, score in zip(PROMPTS, engine.scores(patience), strict=True):
        with torch.no_grad():
            expected = torch.log_softmax(ours.model(torch.tensor([prompt])).logits[0, -1].double(), -1)
        assert set(score) == set(expected.topk(20).indices.tolist())
        assert score == pytest.approx({token: float(expected[token]) for token in score}, abs=1e-4)


def test_samples_depend_on_the_seed_and_the_prompt(engine: EngineProcess) -> None:
    engine.send_prompts([PROMPTS[0]] * 4)
    first, again, other = (engine.generate(Decoding(8, 1.0, seed), patience) for seed in (1, 1, 2))
    engine.send_prompts(PROMPTS)
    assert first == again
    assert len({tuple(response.tokens) for response in (*first, *other)}) == 8


def test_abandoned_generation_sends_no_response_and_the_next_one_is_whole(engine: EngineProcess) -> None:
    long = Decoding(CONTEXT - max(map(len, PROMPTS)))
    whole = engine.generate(long, patience)
    engine._send(Kind.GENERATE, pack_json({"max_new_tokens": long.max_new_tokens}))
    engine.abandon()
    assert engine._members(1, patience)[0] == []
    assert engine.generate(long, patience) == whole


def test_abandoned_batch_ends_with_the_members_so_far_and_the_centre(engine: EngineProcess) -> None:
    before, seeds = engine.weights_hash(patience), list(range(1, 1000))
    engine._send(Kind.ANSWER, pack_seeds(seeds))
    first = engine._receive(Kind.MEMBERS, patience)
    engine.abandon()
    members, _, _ = engine._members(len(seeds) - 1, patience)
    assert first
    assert len(members) < len(seeds) - 1
    assert engine.weights_hash(patience) == before


def test_abandoning_what_is_complete_has_no_effect(engine: EngineProcess) -> None:
    whole, _, _ = engine.answer([], patience)
    engine.abandon()
    assert engine.answer([], patience)[0] == whole


RANKS = [
    1,
    pytest.param(
        2, marks=pytest.mark.skipif((CORES if IS_ON_CPU else torch.cuda.device_count()) < 2, reason="needs two devices")
    ),
]


@pytest.mark.parametrize("ranks", RANKS)
def test_update_save_and_resume_equal_our_back_end_bit_for_bit(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int
) -> None:
    if IS_ON_CPU and ranks > 1:
        monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0|1")
    ours, origin = our_backend(model, BF16), Origin("0", BF16, 0, None)
    state = State.first(origin)
    setup = replace(engine_setup(model, tmp_path, dtype=BF16, tensor_parallel=ranks), origin=state.lineage)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    with real_engine(tmp_path, setup) as process:
        norm, distance = process.update(pack_update(DIRECTIONS, DECAY), patience)
        with torch.no_grad():
            assert norm == pytest.approx(ours.update(DIRECTIONS, DECAY), rel=1e-9)
        assert distance == pytest.approx(ours.anchor_distance(), rel=1e-9)
        for what in ("weights", "master"):
            process.save(Saving(str(folder), what), patience)  # type: ignore[arg-type]
        hash_of_first = process.weights_hash(patience)
    assert_equal(load_file(folder / "master" / "model.safetensors"), ours.trained.master)
    assert_equal(load_file(folder / "model.safetensors"), dict(ours.model.named_parameters()))
    assert sorted(path.name for path in folder.iterdir()) == ["master", "model.safetensors"]

    with ReplayLog(tmp_path, NoiseKind("full", 1)) as log:
        log.start(state, model)
        state.step = 1
        state.lineage = log.update(state, DIRECTIONS, DECAY)
        end = replace(state, step=2)
        end.lineage = log.update(end, DIRECTIONS, DECAY)
    state.save(folder)
    resume(setup, folder, tmp_path, end.lineage, [hash_of_first, None])


def resume(setup: EngineSetup, folder: Path, directory: Path, end: str, hashes: list[str | None]) -> None:
    """Check that a resumed engine has the same weights, and catches up as one that starts at the base model does."""
    lineage = State.load(folder).lineage
    assert setup.vllm is not None
    on_host = replace(setup, vllm=replace(setup.vllm, master_on_host=True))
    with real_engine(directory, on_host, folder) as process:
        assert process.catch_up(lineage) == hashes[0]
        caught_up = process.catch_up(end)
        assert caught_up != hashes[0]
        engine_survives_signals_and_ends_with_its_connection(process)
    with real_engine(directory, setup) as process:
        assert process.catch_up(end) == caught_up


def engine_survives_signals_and_ends_with_its_connection(process: EngineProcess) -> None:
    before, pids = process.weights_hash(patience), [stat.pid for stat in tree(process.pid)]
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        for pid in pids:
            os.kill(pid, number)
    assert process.weights_hash(patience) == before
    process._connection.close()
    wait_until(lambda: process._process.poll() is not None, "the engine to end")
    assert process._process.returncode == 0
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the workers to end with their engine")


def assert_equal(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == expected[name].dtype, name
        assert torch.equal(tensor, expected[name]), name


def test_untrainable_model_is_refused_for_good(model: Path, tmp_path: Path) -> None:
    setup = engine_setup(model, tmp_path)
    assert setup.vllm is not None
    names = setup.vllm.names[:-1]
    setup = replace(setup, vllm=replace(setup.vllm, names=names))
    with (
        pytest.raises(EngineRefused, match=r"^es\.backend: cannot be vllm: .*is loaded by vLLM.*native or transform"),
        real_engine(tmp_path, setup),
    ):
        pass
