"""A loaded model with a task's held-out prompts, into which the probes of behaviour write one set of weights after
another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workers import models
from workers.analysis.tensor_names import group_of, is_in_layers
from workers.config import RunConfig
from workers.config.evaluate import DEFAULT_TOKENS
from workers.engines.es.noise import make_noise
from workers.engines.es.perturbation import Perturbation
from workers.evaluation import Answer
from workers.evaluation.kl import TokenKl
from workers.models import Loaded, PromptFormat
from workers.models.decoder import Completion, evaluating_decoder
from workers.probes.weights import WeightFiles, WeightsDiffer
from workers.tasks import Example, Task, score_safely

Floats = NDArray[np.float64]
Values = Callable[[str], Tensor]
"""A parameter's canonical name -> its value, in any precision. It may be memory of a file: never change it in place."""
Check = Callable[[], None]
"""Raise Interrupted if the run was requested to stop."""
Progress = Callable[[str, float], None]
"""Report a sentence and the share of the work that is done."""
WHOLE_MODEL = "all"
"""Name of the group of all tensors."""
NO_KL = TokenKl(*(np.empty(0) for _ in range(5)))
"""The KL of an answer whose KL is not measured: that of no token."""


class PromptedModel:
    """A model, and the held-out prompts that the sections task and evaluation of `config` select.

    The greedy rewards of written weights are equal, to the bit, to those that an `Evaluator` measures for a checkpoint
    of these weights. `loaded.model` is changed by every write.
    """

    def __init__(self, loaded: Loaded, config: RunConfig, task: Task, max_new_tokens: int) -> None:
        self.loaded = loaded
        self.task = task
        self.format = PromptFormat(loaded.tokenizer, config.task.prompt_style, config.task.prefill)
        self.examples: Sequence[Example] = task.examples("eval")[: config.evaluation.prompts]
        self.parameters: dict[str, nn.Parameter] = dict(loaded.model.named_parameters())
        self._prompts = [self.format.ids(example.messages) for example in self.examples]
        self._max_new_tokens = config.evaluation.max_new_tokens or max_new_tokens
        self._seed = config.evaluation.seed
        self._decoder = evaluating_decoder(loaded.model, loaded.tokenizer)

    @classmethod
    def open(
        cls,
        folder: Path,
        config: RunConfig,
        task: Task,
        training: RunConfig | None = None,
        report: Callable[[str, float | None], None] | None = None,
    ) -> Self:
        """Load the model of a folder in the precision and on the device of `config`.

        `training` is the config of the run that the weights are from; it sets the longest response unless the section
        evaluation does. Raise ConfigError if the model cannot be used here.
        """
        loaded = models.load(replace(config.model, path=str(folder)), report)
        return cls(loaded, config, task, (training.max_new_tokens if training else 0) or DEFAULT_TOKENS)

    @property
    def ends(self) -> list[int]:
        """Return the tokens that end a response; empty if the model has none."""
        return [token for token in self._decoder.ends.tolist() if token >= 0]

    @property
    def prompts(self) -> Sequence[list[int]]:
        """Return the token ids of each prompt."""
        return self._prompts

    def write(self, value: Values) -> None:
        """Write the value of each parameter into the model, cast once to the model's precision."""
        self._write_some(value, self.parameters)

    def _write_some(self, value: Values, names: Iterable[str]) -> None:
        with torch.no_grad():
            for name in names:
                self.parameters[name].copy_(value(name))

    def write_files(self, files: WeightFiles) -> None:
        """Write the weights of a folder into the model. Raise WeightsDiffer if they are not those of this model."""
        self.check_shapes(files)
        self.write(files.tensor)

    def write_perturbed(self, files: WeightFiles, names: Sequence[str], sigma: float, seed: int) -> None:
        """Write θ + σε for the weights θ of a folder, each value cast once, with noise in the named tensors alone."""
        noisy, device = frozenset(names), self.loaded.device
        self._write_some(files.tensor, [name for name in self.parameters if name not in noisy])
        perturbation = Perturbation(make_noise("full"), sigma, dict.fromkeys(names, 1.0))
        # Float32 weights are in memory together only where they are anyway.
        with torch.no_grad():
            for some in [names] if files.is_held else [[name] for name in names]:
                perturbation.write_member(seed, {name: files.tensor(name).to(device) for name in some}, self.parameters)

    def check_shapes(self, files: WeightFiles) -> None:
        """Raise WeightsDiffer if a parameter of the model is missing in a folder, or has another shape there."""
        shapes = files.shapes
        for name, parameter in self.parameters.items():
            if shapes.get(name) != tuple(parameter.shape):
                there = f"the shape {shapes[name]}" if name in shapes else "no such tensor"
                here = f"{name} has the shape {tuple(parameter.shape)} in the model"
                raise WeightsDiffer(f"{here}; {files.folder} has {there}")

    @contextmanager
    def restored(self, files: WeightFiles) -> Iterator[None]:
        """Write the weights of a folder before a block that changes them, and again after it.

        Raise WeightsDiffer for another model's weights, and RuntimeError if a bit differs from before the block.
        """
        self.write_files(files)
        before = self.weights_digest()
        try:
            yield
        finally:
            self.write(files.tensor)
        if self.weights_digest() != before:
            raise RuntimeError(f"the weights of {files.folder} were not restored: they differ from before the probe")

    def weights_digest(self) -> str:
        """Return the sha256 over the bytes of all parameters, in the order of the model."""
        digest = hashlib.sha256()
        for parameter in self.parameters.values():
            digest.update(parameter.detach().cpu().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def groups(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return group -> its parameters, for the named groups that have any in this model, in their order. A group is
        all, one of `group_of`, or layers such as layers:0-9."""
        # A tied head is not among the parameters; the embedding is.
        is_tied = not any(name.startswith("lm_head") for name in self.parameters)
        groups = {name: (WHOLE_MODEL, group_of(name, is_tied=is_tied)) for name in self.parameters}
        members = {name: [p for p, own in groups.items() if name in own or is_in_layers(p, name)] for name in names}
        return {name: parameters for name, parameters in members.items() if parameters}

    def greedy(self) -> list[Answer]:
        """Return the scored greedy answer to each prompt. Raise RewardFailed."""
        completions = self._decoder.greedy(self._prompts, self._max_new_tokens)
        return self._scored(completions, first_sample=0)

    def sample(self, temperature: float, samples: int) -> list[list[Answer]]:
        """Return `samples` scored answers to each prompt, [prompts][samples]. Raise RewardFailed.

        They are equal to those of an `Evaluator` with this temperature and number of samples.
        """
        prompts = self._prompts * samples
        completions = self._decoder.sample(prompts, self._max_new_tokens, temperature, self._seed)
        answers = self._scored(completions, first_sample=1)
        return [answers[i :: len(self._prompts)] for i in range(len(self._prompts))]

    def _scored(self, completions: Sequence[Completion], first_sample: int) -> list[Answer]:
        """Return rounds of completions, each over all prompts, with their scores."""
        count = len(self.examples)
        examples = [self.examples[i % count] for i in range(len(completions))]
        scores = score_safely(self.task, [(e, c.text) for e, c in zip(examples, completions, strict=True)])
        triples = zip(examples, completions, scores, strict=True)
        return [Answer(e, first_sample + i // count, c, score, NO_KL) for i, (e, c, score) in enumerate(triples)]


def rewards(answers: Sequence[Answer]) -> Floats:
    """Return the reward of each answer, float64 [answers]."""
    return np.array([answer.score.reward for answer in answers], dtype=np.float64)
