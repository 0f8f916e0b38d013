"""LoRA settings of ES: layers, a random start, noise in units of the weights; and the published update is ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from torch import Tensor

from tests.workers.engines.es.checkpoints import checkpoint, files, log_lines
from tests.workers.engines.es.population import own_copy, prompts_of
from tests.workers.engines.es.runs import run
from workers.config import ConfigError, EsConfig, LoraConfig, RunConfig
from workers.engines.es.lora import lora_origin
from workers.engines.es.noise import make_noise
from workers.engines.es.perturbation import Perturbation, directions
from workers.engines.es.rebuild import rebuild
from workers.engines.es.seeds import member_seeds
from workers.engines.es.shaping import shape_fitness
from workers.engines.es.trainable import Adapter
from workers.models import Loaded, PromptFormat
from workers.models.save import weights_sha256

VARIANT: dict[str, Any] = {
    "rank": 3, "layers": "1", "start": "random", "start_scale": 4.0, "noise_scale": "weights",
}  # fmt: skip
PREFIX = "base_model.model.model.layers."


def adapter(micro: Loaded, **options: Any) -> Adapter:
    return Adapter(own_copy(micro), LoraConfig(**options), 5)


def logits(model: Any, micro: Loaded) -> Tensor:
    ids = PromptFormat(micro.tokenizer).ids([{"role": "user", "content": prompts_of(micro, 1)[0]}])
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits  # type: ignore[no-any-return]


def test_layers_select_the_matrices_that_get_an_adapter(micro: Loaded) -> None:
    assert LoraConfig(layers="0-2,5,1").layer_numbers() == (0, 1, 2, 5)
    second = adapter(micro, layers="1", targets=("q_proj",)).master
    assert list(second) == [f"{PREFIX}1.self_attn.q_proj.lora_{letter}.weight" for letter in "AB"]
    every = adapter(micro, targets=("q_proj",)).master
    assert second.keys() < every.keys()
    assert adapter(micro, layers="0-1", targets=("q_proj",)).master.keys() == every.keys()
    assert torch.equal(
        second[f"{PREFIX}1.self_attn.q_proj.lora_A.weight"], every[f"{PREFIX}1.self_attn.q_proj.lora_A.weight"]
    )


def test_layers_that_the_model_lacks_are_refused(micro: Loaded) -> None:
    with pytest.raises(ConfigError, match=r"es\.lora\.layers: names layer 2, .* layers 0 to 1"):
        adapter(micro, layers="0-2")


@pytest.mark.parametrize("layers", ["a", "1-", "3-1", "0,,1", "-1", "0-9,"])
def test_mistyped_layers_are_refused(layers: str) -> None:
    with pytest.raises(ConfigError, match=r"es\.lora\.layers"):
        RunConfig.from_json({"method": "es", "es": {"lora": {"layers": layers}}})


def test_noise_in_units_of_the_weights_is_a_tenth_of_their_mean_magnitude(micro: Loaded) -> None:
    trained = adapter(micro, noise_scale="weights", targets=("q_proj", "down_proj"))
    scales = trained.noise_scales(relative=False)
    assert scales.keys() == trained.master.keys()
    for name, scale in scales.items():
        target = name.removeprefix("base_model.model.").rpartition(".lora_")[0]
        weight = micro.model.get_parameter(f"{target}.weight")
        assert scale == pytest.approx(0.1 * float(weight.abs().mean()), rel=1e-5)
    assert set(adapter(micro).noise_scales(relative=False).values()) == {1.0}


def test_random_start_is_normal_in_both_factors_and_is_in_the_model(micro: Loaded) -> None:
    trained = adapter(micro, rank=16, start="random", start_scale=4.0, noise_scale="weights")
    scales = trained.noise_scales(relative=False)
    drawn = torch.cat([(tensor / (4.0 * scales[name])).flatten() for name, tensor in trained.master.items()])
    assert float(drawn.mean()) == pytest.approx(0, abs=0.03)
    assert float(drawn.std()) == pytest.approx(1, abs=0.03)
    target = "model.layers.0.self_attn.q_proj"
    a, b = (trained.master[f"base_model.model.{target}.lora_{letter}.weight"] for letter in "AB")
    expected = micro.model.get_parameter(f"{target}.weight") + b @ a
    assert torch.allclose(trained.model.get_parameter(f"{target}.weight"), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("options", [VARIANT, {"rank": 2}], ids=["variant", "default"])
def test_peft_reads_the_adapter_of_a_checkpoint(
    micro: Loaded, micro_of_transformers: Loaded, tmp_path: Path, options: dict[str, Any]
) -> None:
    trained = adapter(micro, **options)
    for name, tensor in trained.master.items():
        if ".lora_B." in name:
            tensor.add_(0.02 * torch.arange(tensor.numel()).view_as(tensor).sin())
    trained.write(trained.master.__getitem__)
    trained.save(tmp_path)
    loaded = own_copy(micro_of_transformers)
    read = peft.PeftModel.from_pretrained(loaded.model, tmp_path / "adapter").eval()
    assert torch.allclose(logits(read, micro), logits(trained.model, micro), atol=1e-4)
    assert not torch.allclose(logits(micro.model, micro), logits(trained.model, micro), atol=1e-2)
    saved = json.loads((tmp_path / "adapter" / "adapter_config.json").read_bytes())
    assert saved.get("layers_to_transform") == ([1] if options is VARIANT else None)


def test_published_update_with_whole_members_is_the_update_of_every_run(micro: Loaded) -> None:
    """θ + (η/N) Σ zᵢ Wᵢ with Wᵢ = θ + σ s εᵢ equals our update with α = η σ up to rounding, since Σ zᵢ = 0."""
    trained, sigma, rate, count = adapter(micro, **VARIANT), 0.2, 0.5, 8
    perturbation = Perturbation(make_noise("full"), sigma, trained.noise_scales(relative=False))
    seeds = member_seeds(0, 1, count, antithetic=False)
    z = shape_fitness([float(n % 5) for n in range(count)], "z_score")
    published = {}
    for name, start in trained.master.items():
        members = perturbation.member_tensors(seeds, name, start)
        weights = torch.tensor(z).view(-1, *[1] * start.ndim)
        published[name] = start + rate / count * (weights * members).sum(0)
    before = {name: tensor.clone() for name, tensor in trained.master.items()}
    perturbation.step(directions(seeds, z, rate * sigma), trained.master)
    for name, tensor in trained.master.items():
        moved = float((tensor - before[name]).abs().mean())
        assert moved > 0
        assert float((tensor - published[name]).abs().max()) < 1e-3 * moved


def test_variant_resumes_and_is_rebuilt_to_the_bit(micro: Loaded, tmp_path: Path) -> None:
    options: dict[str, Any] = {"iterations": 4, "checkpoint_every": 2, "sigma": 2.0, "alpha": 1.0, "lora": VARIANT}
    run(micro, tmp_path / "straight", **options)
    run(micro, tmp_path / "cut", **options | {"iterations": 2})
    run(micro, tmp_path / "cut", **options)
    straight = files(checkpoint(tmp_path / "straight", 4))
    assert files(checkpoint(tmp_path / "cut", 4)) == straight
    rebuild(tmp_path / "straight", 4, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == straight
    assert weights_sha256(tmp_path / "rebuilt") != weights_sha256(micro.path)
    assert log_lines(tmp_path / "straight")[0]["origin"]["lora"]["start"] == "random"


def test_defaults_are_stored_as_before_the_variant_so_that_old_logs_continue(micro: Loaded, tmp_path: Path) -> None:
    first = {"rank": 2, "alpha": 16.0, "targets": ["q_proj"]}
    assert lora_origin(LoraConfig(rank=2, targets=("q_proj",))) == first
    changed = LoraConfig(rank=2, targets=("q_proj",), layers="0")
    assert lora_origin(changed) == first | {"layers": "0"}
    assert lora_origin(replace(changed, layers="")) == first
    run(micro, tmp_path, iterations=1, lora={"rank": 2, "targets": ["q_proj"]})
    assert log_lines(tmp_path)[0]["origin"]["lora"] == first


def test_scaling_the_noise_twice_is_refused() -> None:
    es = {"lora": {"noise_scale": "weights"}, "layer_scale": True}
    with pytest.raises(ConfigError, match=r"es\.layer_scale: must be false"):
        RunConfig.from_json({"method": "es", "es": es})
    assert EsConfig(lora=LoraConfig(noise_scale="weights")).lora is not None
