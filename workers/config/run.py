"""RunConfig: everything that makes a run what it is. It crosses the wall as run.json; nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from workers.config.decode import ConfigError, Problem, decode, encode
from workers.config.es import EsConfig
from workers.config.grpo import GrpoConfig
from workers.config.knobs import Bounds, Resource
from workers.config.scorer import ScorerConfig
from workers.config.shallow_json import loads
from workers.config.tasks import TaskConfig

SCHEMA = 1


@dataclass(frozen=True)
class ModelConfig:
    """The base model, θ₀."""

    path: Annotated[str, Resource("model")] = "tiny"
    """tiny or micro, which the project makes itself; a name on the Hugging Face hub; a folder in one of the cluster's
    data_paths; or run:<uid>@<step>, a checkpoint of a run."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Precision of the working copy; auto is float32 on a CPU and bfloat16 on a GPU. The master is always float32."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where it runs; auto takes the GPU where there is one."""


@dataclass(frozen=True)
class EvaluationConfig:
    """The common evaluator: the same questions to ES and GRPO, asked of the centre weights."""

    every: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 10
    """Evaluate before training, after this many steps each time, and at the end; 0 means only before and at the end."""
    prompts: Annotated[int, Bounds(at_least=1, at_most=1_000_000)] = 32
    """Held-out prompts; fewer where the task has fewer."""
    samples: Annotated[int, Bounds(at_least=0, at_most=10_000)] = 4
    """Answers sampled at each prompt beside the greedy one; the KL is measured on these."""
    temperature: Annotated[float, Bounds(above=0, at_most=100)] = 1.0
    """Temperature of those samples. KL estimates are unbiased at 1 only."""
    max_new_tokens: Annotated[int, Bounds(at_least=0, at_most=1_000_000)] = 0
    """Longest answer, in tokens; 0 means as long as in training."""
    seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 44
    """Seed of the samples, apart from the run's, so that runs are asked alike."""
    responses: bool = True
    """Keep the answers as records."""


@dataclass(frozen=True)
class ComputeConfig:
    """The cluster that a run is sent to, and what it may use there."""

    cluster: str = "local"
    """Name of a cluster; local is this machine."""
    partition: str = ""
    """Partition of a Slurm cluster that names several; empty takes its first."""
    cores: Annotated[int, Bounds(at_least=1, at_most=1024)] = 1
    """CPU cores, and torch threads."""
    gpus: Annotated[int, Bounds(at_least=0, at_most=1024)] = 0
    """GPUs."""
    memory_mb: Annotated[int, Bounds(at_least=0, at_most=100_000_000)] = 0
    """Memory in MB; 0 leaves it to the cluster."""
    time_limit_seconds: Annotated[int, Bounds(at_least=0, at_most=31_622_400)] = 0
    """Ended as TIMEOUT after this long; 0 leaves it to the cluster."""
    restarts: Annotated[int, Bounds(at_least=0, at_most=100)] = 0
    """How often it is started again by itself after it failed or was lost."""


@dataclass(frozen=True)
class TrackingConfig:
    """The way in which records come back. Files are always written; pushing them is an accelerator."""

    push_url: Annotated[str, Resource("by_hand")] = ""
    """Base URL of an esweb server that takes the records over HTTP; empty means that it reads the files."""
    token_file: Annotated[str, Resource("by_hand")] = ""
    """File that holds the token for pushing. The token itself is never part of a config."""
    system_seconds: Annotated[float, Bounds(at_least=0, at_most=86_400)] = 10.0
    """Seconds between looks at what the training uses of its machine: CPU, memory, GPUs; 0 means never."""


@dataclass(frozen=True)
class RunConfig:
    """One training, from base model to last checkpoint; or one scorer, for as long as it serves."""

    method: Literal["es", "grpo", "scorer"]
    """es: Evolution Strategies. grpo: Group Relative Policy Optimization. scorer: a service in place of training."""
    schema: Annotated[int, Bounds(at_least=SCHEMA, at_most=SCHEMA)] = SCHEMA
    """Version of this format."""
    seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 0
    """Seed of everything random in the run."""
    model: ModelConfig = field(default_factory=ModelConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    es: EsConfig | None = None
    grpo: GrpoConfig | None = None
    scorer: ScorerConfig | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)

    def problems(self) -> Iterator[Problem]:
        sections = {"es": self.es, "grpo": self.grpo, "scorer": self.scorer}
        if sections.pop(self.method) is None:
            yield Problem(self.method, f"is missing; method {self.method} needs its section, {{}} for the defaults")
        for name, section in sections.items():
            if section is not None:
                yield Problem(name, f"does not belong in a run with method {self.method}; leave it out")

    @property
    def steps(self) -> int:
        """Updates of the weights that the run will make: ES iterations or GRPO optimiser steps."""
        return self.es.iterations if self.es else self.grpo.max_steps if self.grpo else 0

    @property
    def max_new_tokens(self) -> int:
        """Longest answer in training, in tokens."""
        return self.es.max_new_tokens if self.es else self.grpo.max_completion_length if self.grpo else 0

    @property
    def needs_transformers(self) -> bool:
        """Return whether the model must be a class of transformers: TRL trains no others."""
        return self.grpo is not None or (self.es is not None and self.es.backend == "transformers")

    def es_section(self) -> EsConfig:
        """Return the es section, which a run of method es has."""
        if self.es is None:
            raise ValueError("the config has no es section")
        return self.es

    @classmethod
    def from_json(cls, data: Any) -> RunConfig:
        """Parsed JSON -> RunConfig. Raises ConfigError naming every problem."""
        return decode(cls, data)

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """Reads run.json. Raises ConfigError, also where the file is missing or not JSON."""
        try:
            data = loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError([Problem("", f"{path} cannot be read as JSON: {error}")]) from error
        return cls.from_json(data)

    def to_json(self) -> dict[str, Any]:
        """The whole config as JSON data, defaults written out, the other methods' sections left out."""
        return {key: value for key, value in encode(self).items() if value is not None}
