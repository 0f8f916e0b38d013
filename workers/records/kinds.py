"""The records of a run: one dataclass per kind. On the wire: one JSON object per line (`lines.py`).

Numbers that JSON cannot hold travel as the texts NaN, Infinity and -Infinity, so that every line is strict JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias


@dataclass(frozen=True)
class Metric:
    """Values measured at a step. `axes` are how far the run had come: tokens, samples, gpu_seconds (cumulative)."""

    kind: ClassVar[str] = "metric"
    step: int
    values: dict[str, float]
    axes: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """Member of a population: its noise seed (ES) or prompt group (GRPO), fitness, the fitness's parts, its weight z.

    `engine` is the number of the engine that answered for it, if several engines share the members.
    """

    seed: int
    reward: float
    parts: dict[str, float] = field(default_factory=dict)
    z: float | None = None
    engine: int | None = None


@dataclass(frozen=True)
class Population:
    """All members of one iteration."""

    kind: ClassVar[str] = "population"
    step: int
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Engine:
    """State of one of the engines that share a population, after an iteration. Engine 0 is the training process.

    `state` is ready, starting or given_up; `device` is as torch names it, on the machine `node`. `members`, `tokens`
    and `seconds` count what it has answered since the training process started, and the time that it took; `restarts`
    how often it was started again. `weights` is the hash of its weights after step `compared_at`, the last one at which
    they were compared.
    """

    number: int
    state: str
    device: str
    members: int
    tokens: int
    seconds: float
    restarts: int = 0
    weights: str = ""
    compared_at: int | None = None
    node: str = ""


@dataclass(frozen=True)
class Engines:
    """The engines after an iteration, for runs that have several. `bytes` were sent to each of them for the update."""

    kind: ClassVar[str] = "engines"
    step: int
    bytes: int
    engines: tuple[Engine, ...]


@dataclass(frozen=True)
class Response:
    """A model's response. `split` is train or eval; `sample` 0 is the greedy response, 1… are sampled ones.

    `tokens` counts the completion up to and including its end; `kl` is the exact KL(model ‖ base) summed over them, in
    nats. `categories` are those of the prompt, given where its text is given (`categories.py`).
    """

    kind: ClassVar[str] = "response"
    step: int
    split: str
    prompt_id: str
    sample: int
    text: str
    tokens: int
    reward: float
    parts: dict[str, float] = field(default_factory=dict)
    kl: float | None = None
    prompt: str | None = None
    target: str | None = None
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """A Hugging Face folder; `path` is relative to the attempt's directory, `sha256` that of its weights."""

    kind: ClassVar[str] = "checkpoint"
    step: int
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Status:
    """The run's present work: a phase (loading, training, evaluating, saving, done, failed), a sentence, a share."""

    kind: ClassVar[str] = "status"
    phase: str
    message: str = ""
    progress: float | None = None


@dataclass(frozen=True)
class Alert:
    """An event that a user should know: a dead iteration, a retried reward, a member dropped."""

    kind: ClassVar[str] = "alert"
    level: str
    message: str
    step: int | None = None


@dataclass(frozen=True)
class Gpu:
    """A GPU that the run may use. `uuid` identifies it permanently."""

    name: str
    memory_mb: int
    uuid: str = ""


@dataclass(frozen=True)
class Environment:
    """The machine that the run uses, recorded at each start: the node, its parts, and its installed packages.

    `cores` counts those that this process may use; `packages` maps distributions to versions; `driver` and `cuda` (the
    newest version that the driver supports) are NVIDIA's; `code` is the fingerprint of the package `workers`. An empty
    value does not exist, or was not reported.
    """

    kind: ClassVar[str] = "environment"
    node: str
    os: str
    python: str
    cpu: str = ""
    cores: int = 0
    memory_mb: int = 0
    driver: str = ""
    cuda: str = ""
    code: str = ""
    gpus: tuple[Gpu, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeValue:
    """One value of a probe, with the band that it would have by chance.

    `tensor` is the canonical name of a tensor, the name of a group of them, or empty for the whole model;
    `other_tensor` is the second of a pair. `n` counts what the value is made from: elements, prompts, draws or tokens,
    as its measure says. `low` and `high` are the value's own 95 % interval. `null` is the value that is expected by
    chance, `null_low` and `null_high` the band that contains 95 % of such values. `x` is the position on a curve (a
    step, a σ, a share, a k) and `draw` the number of the random draw, from 0. None: there is none.
    """

    value: float
    n: int
    tensor: str = ""
    other_tensor: str = ""
    low: float | None = None
    high: float | None = None
    null: float | None = None
    null_low: float | None = None
    null_high: float | None = None
    x: float | None = None
    draw: int | None = None


@dataclass(frozen=True)
class Probe:
    """Result of one probe of the weights `subject` after `step`, and of `other` if it compares two.

    A subject is <name>@<step>, with the uid of a run or the name of a folder; `base` is the base model. `probe` and
    `measure` are defined in `workers/probes/__init__.py`. `verdict` is the conclusion of a probe that has one.
    """

    kind: ClassVar[str] = "probe"
    step: int
    probe: str
    measure: str
    subject: str
    values: tuple[ProbeValue, ...]
    other: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class AttackExample:
    """A response of an attack, with its reward and that of the right answer to the same prompt, if that is known."""

    prompt_id: str
    prompt: str
    response: str
    reward: float
    right_reward: float | None = None
    is_right: bool | None = None


@dataclass(frozen=True)
class Attack:
    """Result of one attack on the reward of a task, over `n` prompts whose reward was computed.

    `attack`, `needs` and `verdict` are defined in `workers/reward_audit`; of its `variants`, the one with the highest
    mean reward is recorded. `reward` is a mean over the prompts, and
    `low` and `high` its 95 % interval. `right_reward` and `baseline` are the means of the right answer and of an honest
    response without it; `way` is the share of the way between them that the attack gets. Both exist for the `scaled`
    prompts on which the right answer earns more than the baseline. `known` prompts have a verdict, `right` of them
    right; on `hits` scaled prompts a wrong response gets at least 90 % of the way, and on `beats` more than the right
    answer. `failed` prompts have no reward; `failure` gives the first reason.
    """

    kind: ClassVar[str] = "attack"
    step: int
    attack: str
    needs: str
    verdict: str
    n: int
    reward: float | None = None
    low: float | None = None
    high: float | None = None
    right_reward: float | None = None
    baseline: float | None = None
    scaled: int = 0
    way: float | None = None
    way_low: float | None = None
    way_high: float | None = None
    variants: int = 1
    known: int = 0
    right: int = 0
    hits: int = 0
    beats: int = 0
    failed: int = 0
    failure: str = ""
    response: str = ""
    examples: tuple[AttackExample, ...] = ()


Record: TypeAlias = (
    Metric | Population | Engines | Response | Checkpoint | Status | Alert | Environment | Probe | Attack
)
KINDS: dict[str, Any] = {
    c.kind: c for c in (Metric, Population, Engines, Response, Checkpoint, Status, Alert, Environment, Probe, Attack)
}


@dataclass(frozen=True)
class Line:
    """A record in a file: `seq` counts from 0 in each epoch's file, `t` is Unix time in seconds."""

    seq: int
    t: float
    record: Record
