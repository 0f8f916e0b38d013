"""A model with prompts answers as the evaluator of a training does, and takes weights to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.workers.probes.behaviour.checkpoints import config_of, prompted, weights, with_noise
from workers import tasks
from workers.config import RunConfig
from workers.evaluation import Evaluator
from workers.models import Loaded, PromptFormat
from workers.probes.behaviour import PromptedModel
from workers.probes.weights import WeightFiles, WeightsDiffer


def test_answers_are_those_of_the_evaluator(micro: Loaded, tmp_path: Path) -> None:
    config = config_of(samples=3, temperature=0.7)
    model = prompted(with_noise(micro, tmp_path / "a", 0.02), config)
    task = tasks.make(config.task)
    evaluator = Evaluator(model.loaded, task, config.evaluation, 99, PromptFormat(micro.tokenizer))

    expected = evaluator.run(model.loaded.model, 0).answers

    rounds = [answers for samples in zip(*model.sample(0.7, 3), strict=True) for answers in samples]
    answers = [*model.greedy(), *rounds]
    assert [(a.sample, a.example, a.completion, a.score) for a in answers] == [
        (a.sample, a.example, a.completion, a.score) for a in expected
    ]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_of_a_folder_replace_all_others(micro: Loaded, tmp_path: Path, dtype: str) -> None:
    first, second = (with_noise(micro, tmp_path / name, 0.1, seed) for seed, name in enumerate("ab"))
    config = config_of(dtype=dtype)
    model, other = prompted(first, config), prompted(second, config)
    assert model.weights_digest() != other.weights_digest()

    with WeightFiles(second) as files:
        model.write_files(files)

    assert model.weights_digest() == other.weights_digest()
    assert [a.completion for a in model.greedy()] == [a.completion for a in other.greedy()]
    saved = weights(second)
    assert all(torch.equal(p, saved[name].to(p.dtype)) for name, p in model.parameters.items())


def test_weights_of_another_model_are_refused(micro: Loaded, tmp_path: Path) -> None:
    model = prompted(micro.path)
    tensors = weights(micro.path)
    save_file({name: t for name, t in tensors.items() if name != "model.norm.weight"}, tmp_path / "a.safetensors")
    with (
        WeightFiles(tmp_path) as files,
        pytest.raises(WeightsDiffer, match=r"norm\.weight has .* has no such tensor"),
    ):
        model.write_files(files)

    save_file(tensors | {"model.norm.weight": torch.ones(1)}, tmp_path / "a.safetensors")
    with WeightFiles(tmp_path) as files, pytest.raises(WeightsDiffer, match=r"has the shape \(1,\)"):
        model.write_files(files)


def test_restoring_checks_every_bit(micro: Loaded, tmp_path: Path) -> None:
    """If a file changes while its weights are perturbed, what is written back is not what was there before."""
    folder = with_noise(micro, tmp_path / "a", 0.1)
    model = prompted(folder)
    with WeightFiles(folder) as files:
        with model.restored(files):
            model.write(lambda name: torch.zeros_like(model.parameters[name]))
        assert torch.equal(model.parameters["model.norm.weight"], files.tensor("model.norm.weight"))

    tensors = weights(folder)
    flipped = tensors["model.norm.weight"].clone()
    flipped[3] = flipped[3].nextafter(torch.tensor(9.0))
    other = tmp_path / "b"
    other.mkdir()
    save_file(tensors | {"model.norm.weight": flipped}, other / "model.safetensors", metadata={"format": "pt"})
    changed_file = (other / "model.safetensors").read_bytes()

    def change_in_place() -> None:
        with (folder / "model.safetensors").open("r+b") as file:
            file.write(changed_file)

    with WeightFiles(folder) as files, pytest.raises(RuntimeError, match="were not restored"), model.restored(files):
        change_in_place()


def test_perturbed_weights_are_the_same_from_files_and_from_held_tensors(micro: Loaded, tmp_path: Path) -> None:
    folder = with_noise(micro, tmp_path / "a", 0.1)
    model, digests = prompted(folder), []
    names = model.groups(["mlp"])["mlp"]
    with WeightFiles(folder) as files:
        for held in ({}, {name: files.tensor(name) for name in files.shapes}):
            # A CPU holds none by itself.
            files.hold(model.loaded.device)
            assert not files.is_held
            files._held = held
            model.write_perturbed(files, names, 0.1, 7)
            digests.append(model.weights_digest())
            changed = {n for n, p in model.parameters.items() if not torch.equal(p, files.tensor(n))}
            assert changed == set(names)
    assert digests[0] == digests[1]


def test_groups_of_a_tied_model(micro: Loaded) -> None:
    groups = prompted(micro.path).groups(["all", "embedding", "head", "norm", "attention", "mlp"])

    assert list(groups) == ["all", "head", "norm", "attention", "mlp"]
    assert groups["head"] == ["model.embed_tokens.weight"]
    assert sorted(groups["all"]) == sorted(n for name, of in groups.items() if name != "all" for n in of)
    assert len(groups["all"]) == len(dict(micro.model.named_parameters()))


def test_the_longest_response_is_that_of_the_training(micro: Loaded) -> None:
    training = RunConfig.from_json({"method": "es", "es": {"max_new_tokens": 3}})
    config = config_of(max_new_tokens=0)
    model = PromptedModel.open(micro.path, config, tasks.make(config.task), training)

    assert max(len(answer.completion.tokens) for answer in model.greedy()) == 3
