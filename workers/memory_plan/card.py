"""The plan of a run on one GPU: the one shape that every planner returns, and that trainers, pages and reports read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

GB = 10**9
SHARE = 0.92
"""Share of a card's memory for a run. The rest is for the allocator's gaps and for other processes."""
CONTEXT_BYTES = 768 * 1024**2
"""CUDA's context, kernels and libraries, outside torch's allocator."""


@dataclass(frozen=True)
class Remedy:
    """A change that makes a run fit: `template` with its `values` says which; `plan` is the plan with it.

    A site translates the template.
    """

    template: str
    values: Mapping[str, int | str]
    plan: CardPlan

    def describe(self) -> str:
        """Return the change in words, as an imperative."""
        return self.template % self.values


@dataclass(frozen=True, kw_only=True)
class CardPlan:
    """The memory of a run on a card of `card` bytes, of which it may use `usable`. All sizes are in bytes.

    `parts`: name -> size. `phases`: name -> peak, for runs that do not hold all parts at the same time; others have
    none. `reason`: why the run does not fit, and empty if it does; then the plan is the smallest one. `remedies`: the
    changes with which it fits. `summary`: what was chosen, in words.
    """

    card: int
    usable: int
    parts: Mapping[str, int]
    phases: Mapping[str, int] = field(default_factory=dict)
    engines: int = 1
    """Engines that share the card; 0 if none fits."""
    reason: str = ""
    summary: str = ""
    remedies: Sequence[Remedy] = ()

    processes: int = 1
    """Processes of a GRPO run, each with a card of its own."""
    members: int = 0
    """Members that answer in one batch of an engine of es.backend native."""
    weight_sets: int = 1
    """Sets of weights with which such an engine answers at the same time, equally many responses with each."""
    rows: int = 0
    """Responses that an engine of ES generates concurrently."""
    columns: int = 0
    """Tokens that hold a response and its prompt."""
    kv_cache_bytes: int = 0
    """Keys and values of each engine of es.backend vllm."""
    master_on_host: bool = False
    """Whether the float32 master of such an engine is in the machine's memory."""
    with_kl: bool = False
    """Whether the training process has room on the card to measure the KL."""

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return not self.reason

    @property
    def needed(self) -> int:
        """Return the bytes of all parts, or of the phase that needs most."""
        return max(self.phases.values()) if self.phases else sum(self.parts.values())

    @property
    def card_gb(self) -> float:
        """Return the size of the card in GB."""
        return self.card / GB

    @property
    def needed_gb(self) -> float:
        """Return the memory that the run needs, in GB."""
        return self.needed / GB

    @property
    def usable_gb(self) -> float:
        """Return the memory that the run may use, in GB."""
        return self.usable / GB

    @property
    def parts_gb(self) -> dict[str, float]:
        """Return part -> its GB."""
        return {part: size / GB for part, size in self.parts.items()}

    @property
    def phases_gb(self) -> dict[str, float]:
        """Return phase -> its peak in GB."""
        return {phase: size / GB for phase, size in self.phases.items()}

    @property
    def responses(self) -> int:
        """Return the responses that all engines on the card generate concurrently."""
        return self.engines * self.rows

    @property
    def all_weight_sets(self) -> int:
        """Return the sets of weights that answer at the same time on the card."""
        return self.engines * self.weight_sets

    @property
    def responses_per_set(self) -> int:
        """Return the responses that are generated concurrently with each set of weights."""
        return self.rows // self.weight_sets
