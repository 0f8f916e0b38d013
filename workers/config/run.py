"""RunConfig: everything that defines a run. It is passed to the trainer as run.json, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from workers.config.audit import AuditConfig
from workers.config.decode import ConfigError, Problem, decode, encode
from workers.config.es import EsConfig
from workers.config.evaluate import EvaluateConfig
from workers.config.fields import Bounds, DigitsAreText, Divisible, Resource, Shape
from workers.config.grpo import GrpoConfig
from workers.config.methods import METHODS, MethodName
from workers.config.probe import ProbeConfig
from workers.config.scorer import ScorerConfig
from workers.config.shallow_json import loads
from workers.config.tasks import TaskConfig

SCHEMA = 1
ONE_NODE = "only the engines of method es and the processes of grpo can be on several nodes"
WANDB_NAME = Shape(r"([A-Za-z0-9][\w.-]{0,127})?", "empty, or letters, digits, dots, dashes and underscores")
GPU_TYPE = Shape(r"([A-Za-z0-9][\w.+-]{0,63})?", "empty, or letters, digits and . - _ +, such as h100 or 2080ti")

AUTO = "auto"
"""Value of compute.gpus: a share of one GPU by the planned memory."""


@dataclass(frozen=True)
class ModelConfig:
    """The base model, θ₀."""

    path: Annotated[str, Resource("model")] = "tiny"
    """tiny or micro (built-in models), a model name on the Hugging Face hub, a folder in one of the cluster's
    data_paths, or run:<uid>@<step>, a checkpoint of a run."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Precision of the working copy; auto is float32 on a CPU and bfloat16 on a GPU. The master is always float32."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of the model; auto uses the GPU if there is one."""


@dataclass(frozen=True)
class EvaluationConfig:
    """The common evaluator: the same questions to ES and GRPO, asked of the centre weights."""

    every: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 10
    """Evaluate every this many steps, and before and after training; 0 means only before and after."""
    prompts: Annotated[int, Bounds(at_least=1, at_most=1_000_000)] = 32
    """Number of held-out prompts. If the task has fewer, all of them are used."""
    samples: Annotated[int, Bounds(at_least=0, at_most=10_000)] = 4
    """Responses sampled per prompt, in addition to the greedy one. The KL is measured on them."""
    temperature: Annotated[float, Bounds(above=0, at_most=100)] = 1.0
    """Temperature of these samples. KL estimates are unbiased only at 1."""
    max_new_tokens: Annotated[int, Bounds(at_least=0, at_most=1_000_000)] = 0
    """Maximum response length in tokens; 0 means as in training."""
    seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 44
    """Seed of the samples. It is separate from the run's seed, so that all runs are evaluated alike."""
    responses: bool = True
    """Save the responses as records."""


@dataclass(frozen=True)
class ComputeConfig:
    """The cluster that a run is sent to, and what it may use there."""

    cluster: str = "local"
    """Name of a cluster; local is this machine."""
    partition: str = ""
    """Partition of a Slurm cluster that has several; empty means the first one."""
    nodes: Annotated[int, Bounds(at_least=1, at_most=256)] = 1
    """Machines of the cluster that the run uses concurrently. Method es spreads its engines over
    them, method grpo its processes."""
    cores: Annotated[int, Bounds(at_least=1, at_most=1024)] = 1
    """CPU cores of each node, and torch threads."""
    gpus: Annotated[float | Literal["auto"], Divisible(at_most=1024, word=AUTO)] = 0
    """GPUs of each node. A fraction is a share of one GPU, which other runs may use too. auto is the share that the
    run's planned memory needs, and a whole GPU above one half."""
    gpu_type: Annotated[str, GPU_TYPE, DigitsAreText()] = ""
    """Type of GPU, as the cluster names it, such as h100; empty takes any."""
    memory_mb: Annotated[int, Bounds(at_least=0, at_most=100_000_000)] = 0
    """Memory of each node in MB; 0 leaves it to the cluster."""
    time_limit_seconds: Annotated[int, Bounds(at_least=0, at_most=31_622_400)] = 0
    """Time limit of an attempt, which then ends as TIMEOUT; 0 leaves it to the cluster."""
    restarts: Annotated[int, Bounds(at_least=0, at_most=100)] = 0
    """How often the run restarts automatically after it failed or was lost."""

    def problems(self) -> Iterator[Problem]:
        if self.gpu_type and not self.devices:
            yield Problem("gpu_type", f"must be empty in a run without GPUs, not {self.gpu_type!r}; or set gpus")
        if self.shares_gpu and self.nodes > 1:
            needs = "a run that shares a GPU is on one node; or set compute.gpus to a whole number"
            yield Problem("nodes", f"must be 1, not {self.nodes}: {needs}")

    @property
    def shares_gpu(self) -> bool:
        """Return whether the run may share its GPU with others: it requests a fraction of one, or auto."""
        return isinstance(self.gpus, str) or 0 < self.gpus < 1

    @property
    def devices(self) -> int:
        """Return the number of GPUs that the processes of a node see: 1 if the run shares one."""
        return 1 if self.shares_gpu else int(self.gpus)

    @property
    def gpu_share(self) -> float | None:
        """Return the fraction of each of its GPUs that the run has: 1 for whole ones. None for auto, until it is
        planned."""
        if isinstance(self.gpus, str):
            return None
        return self.gpus if 0 < self.gpus < 1 else 1

    @property
    def node_gpus(self) -> float:
        """Return the number of GPUs of each node, or the fraction of one; 1 for auto, until it is planned."""
        return 1 if isinstance(self.gpus, str) else self.gpus

    @property
    def all_gpus(self) -> float:
        """Return the number of GPUs on all nodes, or the fraction of one; 1 for auto, until it is planned."""
        return self.nodes * self.node_gpus

    @property
    def all_cores(self) -> int:
        """Return the number of cores on all nodes."""
        return self.nodes * self.cores


@dataclass(frozen=True)
class TrackingConfig:
    """The way in which records come back. Files are always written; pushing them is an accelerator."""

    push_url: Annotated[str, Resource("by_hand")] = ""
    """Base URL of an esweb server that accepts the records over HTTP; empty means that it reads the files."""
    token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token for pushing. The token itself is never part of a config."""
    system_seconds: Annotated[float, Bounds(at_least=0, at_most=86_400)] = 10.0
    """Seconds between measurements of CPU, memory and GPU usage; 0 switches them off."""
    tensorboard: bool = False
    """Write all metrics to TensorBoard files too, in the folder tensorboard of the attempt's directory."""
    wandb_project: Annotated[str, WANDB_NAME, Resource("wandb_project")] = ""
    """Project at Weights & Biases to which all metrics are sent too; empty means none."""
    wandb_entity: Annotated[str, WANDB_NAME, Resource("wandb_entity")] = ""
    """User or team that owns the project; empty means that of the key."""
    wandb_mode: Literal["online", "offline"] = "online"
    """offline: write files in the folder wandb of the attempt's directory, which `wandb sync` sends later."""
    wandb_key_file: Annotated[str, Resource("by_hand")] = ""
    """File with the key for Weights & Biases. The key itself is never part of a config."""


@dataclass(frozen=True)
class RunConfig:
    """One training, from base model to last checkpoint; an evaluation, probe or audit; or a scorer, while it serves."""

    method: MethodName
    """es: Evolution Strategies. grpo: Group Relative Policy Optimization. evaluate: an evaluation of a model, or of
    steps of a run, without training. probe: an examination of the weights of a model, or of runs, without training.
    audit: attacks on the task's reward, without training. scorer: a service instead of training."""
    schema: Annotated[int, Bounds(at_least=SCHEMA, at_most=SCHEMA)] = SCHEMA
    """Version of this format."""
    seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 0
    """Seed of all random numbers in the run."""
    model: ModelConfig = field(default_factory=ModelConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    es: EsConfig | None = None
    grpo: GrpoConfig | None = None
    evaluate: EvaluateConfig | None = None
    probe: ProbeConfig | None = None
    audit: AuditConfig | None = None
    scorer: ScorerConfig | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)

    def problems(self) -> Iterator[Problem]:
        sections = {method: getattr(self, method) for method in METHODS}
        if sections.pop(self.method) is None:
            yield Problem(self.method, f"is missing: method {self.method} needs this section; {{}} means all defaults")
        for name, section in sections.items():
            if section is not None:
                yield Problem(name, f"cannot be set in a run with method {self.method}; remove it")
        if self.grpo is not None:
            yield from self.grpo.batch_problems(self.processes)
            yield from self._process_problems(self.grpo)
        if self.compute.nodes > 1 and not self.spreads_over_nodes:
            yield Problem("compute.nodes", f"must be 1, not {self.compute.nodes}: {ONE_NODE}")
        if self.compute.shares_gpu and self.uses_vllm:
            yield Problem("compute.gpus", f"must be a whole number, not {self.compute.gpus}: vLLM reserves a GPU alone")

    def _process_problems(self, grpo: GrpoConfig) -> Iterator[Problem]:
        on_node = grpo.processes_on(self.compute.devices)
        devices = self.compute.devices
        if devices and on_node > devices:
            yield Problem("grpo.processes_per_node", f"must be 0 to {devices}, the GPUs of a node, not {on_node}")
        if grpo.sharding != "none" and (self.processes == 1 or not self.compute.devices):
            needs = "it splits the training state over several GPUs; or set compute.gpus"
            yield Problem("grpo.sharding", f"must be none, not {grpo.sharding}: {needs}")
        if grpo.sharding != "none" and grpo.lora is not None:
            yield Problem("grpo.sharding", f"must be none with grpo.lora, not {grpo.sharding}: an adapter's is small")
        if grpo.vllm is not None and not self.compute.devices:
            yield Problem("grpo.vllm", "needs GPUs: set compute.gpus, or remove it")
        if grpo.vllm is not None and on_node % grpo.vllm.tensor_parallel_size:
            yield Problem("grpo.vllm.tensor_parallel_size", f"must divide the {on_node} processes of a node")

    @property
    def processes(self) -> int:
        """Return the processes of the trainer on all nodes: several only with method grpo."""
        return self.compute.nodes * self.grpo.processes_on(self.compute.devices) if self.grpo else 1

    @property
    def steps(self) -> int:
        """Updates of the weights that the run will make: ES iterations or GRPO optimiser steps; 0 without training."""
        steps: int = getattr(getattr(self, self.method), METHODS[self.method].steps, 0)
        return steps

    @property
    def max_new_tokens(self) -> int:
        """Maximum response length in training, in tokens."""
        return self.es.max_new_tokens if self.es else self.grpo.max_completion_length if self.grpo else 0

    @property
    def is_training(self) -> bool:
        """Return whether the run changes weights."""
        return METHODS[self.method].is_training

    @property
    def reads_model(self) -> bool:
        """Return whether the run generates with the model of model.path."""
        return METHODS[self.method].reads_model or (self.audit is not None and self.audit.asks_model)

    @property
    def needs_torch(self) -> bool:
        """Return whether the run needs torch and transformers."""
        return METHODS[self.method].needs_torch or (self.audit is not None and self.audit.asks_model)

    @property
    def needs_transformers(self) -> bool:
        """Return whether the model must be a class of transformers: TRL trains no others; vLLM is compared with it."""
        return self.grpo is not None or (self.es is not None and self.es.backend in ("transformers", "vllm"))

    @property
    def spreads_over_nodes(self) -> bool:
        """Return whether the run can use several nodes: it has engines or processes that may be on other nodes."""
        return self.grpo is not None or (self.es is not None and self.es.backend != "adapter_server")

    @property
    def uses_vllm(self) -> bool:
        """Return whether vLLM generates on the GPUs of the run."""
        is_colocated = self.grpo is not None and self.grpo.vllm is not None and self.grpo.vllm.mode == "colocate"
        return is_colocated or (self.es is not None and self.es.backend == "vllm")

    @property
    def is_answered_elsewhere(self) -> bool:
        """Return whether other processes hold the trained weights; the training process needs them for the KL."""
        return self.es is not None and self.es.backend == "vllm"

    def es_section(self) -> EsConfig:
        """Return the es section, which a run of method es has."""
        if self.es is None:
            raise ValueError("the config has no es section")
        return self.es

    @classmethod
    def from_json(cls, data: Any) -> RunConfig:
        """Convert parsed JSON to a RunConfig. Raise ConfigError naming every problem.

        The section of a method may be omitted if all of its settings have defaults that make sense together.
        """
        name = data.get("method") if isinstance(data, Mapping) else None
        method = METHODS.get(name) if isinstance(name, str) else None
        if method is not None and method.is_section_optional and data.get(name) is None:
            data = {**data, name: {}}
        return decode(cls, data)

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """Read run.json. Raise ConfigError, also if the file is missing or not JSON."""
        try:
            data = loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError([Problem("", f"{path} cannot be read as JSON: {error}")]) from error
        return cls.from_json(data)

    def to_json(self) -> dict[str, Any]:
        """Return the whole config as JSON data, defaults written out, the other methods' sections left out."""
        return {key: value for key, value in encode(self).items() if value is not None}
