"""Members that answer on a server write what the native back end writes, token for token."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from tests.workers.engines.es.adapter_server.server import AdapterProgram, Kind, serving
from tests.workers.engines.es.population import SIGMA, TOKENS, own_copy, prompts_of
from workers.config import AdapterServerConfig, EsConfig, LoraConfig
from workers.engines.es.adapter_server import AdapterServerBackEnd
from workers.engines.es.backend import DecoderBackEnd, make_backend
from workers.engines.es.batches import BatchPlan
from workers.engines.es.seeds import member_seeds
from workers.engines.es.trainable import make_trainable
from workers.models import Loaded
from workers.models.decoder import Decoder

SEEDS = member_seeds(0, 1, 6, antithetic=True)
KINDS: tuple[Kind, ...] = get_args(Kind)
LORAS = {
    "default": LoraConfig(rank=2, alpha=4.0),
    "some layers": LoraConfig(rank=2, layers="1", targets=("q_proj", "down_proj")),
    "random, in units of the weights": LoraConfig(rank=3, start="random", start_scale=4.0, noise_scale="weights"),
}


def never_wait(seconds: float, reason: str) -> None:
    """Fail: the server of the test is up."""
    raise AssertionError(reason)


def backends(
    micro: Loaded, server: AdapterProgram, folder: Path, lora: LoraConfig, **options: Any
) -> tuple[AdapterServerBackEnd, DecoderBackEnd]:
    """Return a connected back end of the server, and a native one of the same members."""
    made = []
    config = AdapterServerConfig(server.url, server.kind, at_once=options.pop("at_once", 3), **options)
    for backend in ("adapter_server", "native"):
        sigma = 2.0 if lora.noise_scale == "weights" else SIGMA
        es = EsConfig(
            population=6, sigma=sigma, max_new_tokens=TOKENS, lora=lora, backend=backend,
            adapter_server=config if backend == "adapter_server" else None,
        )  # fmt: skip
        loaded = own_copy(micro)
        trained = make_trainable(loaded, lora, 5)
        made.append(make_backend(loaded, trained, es, trained.noise_scales(False), BatchPlan(24, 6)))
    served, native = made
    assert isinstance(served, AdapterServerBackEnd)
    assert served.connect(folder / "esweb-abcdefghjk-a1", never_wait, prompts_of(micro, 2)) < 1e-4
    return served, native


@pytest.mark.parametrize("lora", LORAS.values(), ids=LORAS.keys())
@pytest.mark.parametrize("kind", KINDS)
def test_responses_equal_those_of_the_native_back_end(
    micro: Loaded, tmp_path: Path, kind: Kind, lora: LoraConfig
) -> None:
    prompts = prompts_of(micro, 4)
    with serving(micro, kind) as server:
        served, native = backends(micro, server, tmp_path, lora)
        for _ in range(2):
            expected = native.answer(SEEDS, prompts)
            assert served.answer(SEEDS, prompts) == expected
            assert served.answer_centre(prompts) == native.answer_centre(prompts)
            assert len({tuple(answer.text for answer in of_member) for of_member in expected}) > 1
            directions = {seed: 0.1 * seed / SEEDS[0] for seed in SEEDS if seed > 0}
            assert served.update(directions) == native.update(directions) > 0
            assert served.weights_hash() == native.weights_hash()
        assert server.served.adapters == {}
    assert list((tmp_path / "esweb-abcdefghjk-a1" / "adapters").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_writes_greedy_and_sampled_responses_of_the_centre(
    micro: Loaded, tmp_path: Path, kind: Kind
) -> None:
    prompts = prompts_of(micro, 3) * 2
    with serving(micro, kind) as server:
        served, native = backends(micro, server, tmp_path, LORAS["random, in units of the weights"])
        own = Decoder(native.model, micro.tokenizer)
        assert served.decoder.greedy(prompts, 8) == own.greedy(prompts, 8)
        sampled = served.decoder.sample(prompts, 8, 1.0, seed=4)
        assert len(sampled) == len(prompts)
        if kind == "vllm":
            assert sampled[:3] != sampled[3:], "equal prompts must get samples of their own"
            assert served.decoder.sample(prompts, 8, 1.0, seed=4) == sampled
            assert served.decoder.sample(prompts, 8, 1.0, seed=5) != sampled


def test_as_many_adapters_are_loaded_as_the_config_allows(micro: Loaded, tmp_path: Path) -> None:
    with serving(micro, "vllm") as server:
        served, _ = backends(micro, server, tmp_path, LORAS["default"], at_once=2)
        list(served.answer_each(SEEDS, prompts_of(micro, 4)))
        assert server.most_adapters == 2
        names = [body["lora_name"] for route, body in server.requests if route == "/v1/load_lora_adapter"]
        assert len(set(names)) == len(names) and all(name.startswith("esweb-abcdefghjk-") for name in names)
        members = [name.split("-", 4)[4] for name in names][-6:]
        assert sorted(members) == sorted(map(str, SEEDS)), "threads load them in any order"


def test_server_with_a_token_is_called_with_that_of_the_file(micro: Loaded, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abcdef\n")
    with serving(micro, "vllm", token="abcdef") as server:
        served, native = backends(micro, server, tmp_path, LORAS["default"], token_file=str(token))
        prompts = prompts_of(micro, 2)
        assert served.answer(SEEDS[:2], prompts) == native.answer(SEEDS[:2], prompts)
