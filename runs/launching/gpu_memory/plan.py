"""The GPU memory that a run would take, planned before its launch for cards of usual sizes.

A trainer plans in the same way, for the card and the prompts that it finds (`workers.memory_plan`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.create import cluster_of
from runs.launching.gpu_memory.model_config import ModelConfigMissing, read_model_config
from workers.config import RunConfig
from workers.memory_plan import CardTooSmall, MemoryPlan, ModelSizes, evaluation_bytes, plan_run

CARDS_GB = (24, 40, 80, 141)
GB = 10**9
PROMPT_TOKENS = 512
"""Assumed tokens of the longest prompt: only a trainer reads the task's prompts."""
PROMPTS = 2048
"""Assumed prompts of an iteration if es.prompts selects all of them."""
MAX_SIZE = 10**7
"""Maximum of a model's layers, heads, hidden size and vocabulary."""
PARTS = {
    "master": _("Master weights, float32"),
    "working": _("Weights for generation"),
    "reference": _("Copies of the base model"),
    "copies": _("Further copies of the weights"),
    "factors": _("Noise of the members"),
    "cache": _("Keys and values"),
    "workspace": _("Workspace"),
    "evaluation": _("Evaluation"),
}
"""Field of `MemoryPlan` -> label."""


@dataclass(frozen=True)
class CardPlan:
    """The plan of each of the `engines` that share a card of `gb` · 10⁹ bytes. `reason`: why the run does not fit; then
    `plan` is the smallest possible one."""

    gb: int
    engines: int
    plan: MemoryPlan
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return not self.reason

    @property
    def needed_gb(self) -> float:
        """Return the planned memory of all engines on the card, in GB."""
        return self.engines * self.plan.planned / GB

    @property
    def usable_gb(self) -> float:
        """Return the GB that a plan may have on this card."""
        return self.engines * self.plan.limit / GB

    @property
    def weight_sets(self) -> int:
        """Return how many sets of weights answer at the same time on the card."""
        return self.engines * self.plan.weight_sets

    @property
    def answers(self) -> int:
        """Return the number of answers that are generated concurrently on the card."""
        return self.engines * self.plan.rows

    @property
    def answers_a_set(self) -> int:
        """Return the number of answers that are generated concurrently with each set of weights."""
        return self.plan.rows // self.plan.weight_sets

    @property
    def parts_gb(self) -> dict[str, float]:
        """Return part -> GB on the card, for each of PARTS."""
        return {part: self.engines * getattr(self.plan, part) / GB for part in PARTS}


@dataclass(frozen=True)
class GpuMemory:
    """A plan for each of CARDS_GB, or the `reason` why there is none, in the language of the page.

    `on_gpus`: whether the run is one of ES on GPUs. `prompts`: those of an iteration; `prompts_assumed` if the config
    leaves them to the task.
    """

    reason: str = ""
    on_gpus: bool = True
    cards: tuple[CardPlan, ...] = ()
    prompts: int = 0
    prompts_assumed: bool = False
    prompt_tokens: int = PROMPT_TOKENS

    @property
    def parts(self) -> list[tuple[str, list[float]]]:
        """Return (part in words, its GB on each card), without parts that are nowhere more than 0."""
        rows = [(gettext(words), [card.parts_gb[part] for card in self.cards]) for part, words in PARTS.items()]
        return [(words, sizes) for words, sizes in rows if any(sizes)]

    @property
    def fitting(self) -> list[int]:
        """Return the GB of the cards that hold the run."""
        return [card.gb for card in self.cards if card.fits]

    @property
    def fits_all(self) -> bool:
        """Return whether each card holds the run."""
        return len(self.fitting) == len(self.cards)

    @property
    def demand(self) -> tuple[int, int]:
        """Return what orders plans: the number of cards that are too small, and the bytes on the smallest card."""
        return len(self.cards) - len(self.fitting), self.cards[0].plan.planned if self.cards else 0


def plan_gpu_memory(configs: Iterable[RunConfig], person: User) -> list[GpuMemory]:
    """Return the memory that each of these runs would take on each GPU, in order.

    The configs are those of a launch that `check` or `plan_sweep` accepts. Raise ConfigError for an unknown cluster.
    """
    models = _Models(person)
    return [_plan(config, models) for config in configs]


def largest_plan(plans: Iterable[GpuMemory]) -> GpuMemory | None:
    """Return the plan that needs most: the most cards are too small, then the most bytes. None without plans."""
    return max(plans, key=lambda plan: plan.demand, default=None)


class _Models:
    """Sizes of the models that the runs of one launch name, each file read once."""

    def __init__(self, person: User) -> None:
        self._person = person
        self._read: dict[tuple[str, str], dict[str, Any] | ModelConfigMissing] = {}

    def sizes(self, config: RunConfig) -> ModelSizes:
        """Return the sizes of the run's model. Raise ModelConfigMissing."""
        key = (config.model.path, config.compute.cluster)
        if key not in self._read:
            try:
                self._read[key] = read_model_config(config, self._person, cluster_of(config))
            except ModelConfigMissing as missing:
                self._read[key] = missing
        model_config = self._read[key]
        if isinstance(model_config, ModelConfigMissing):
            raise model_config
        return _sizes(model_config, config)


def _plan(config: RunConfig, models: _Models) -> GpuMemory:
    if (reason := _inapplicable(config)) is not None:
        return GpuMemory(reason, on_gpus=False)
    es = config.es_section()
    if es.backend != "native":
        text = gettext("With es.backend %(backend)s, memory is planned when the run starts, not here.")
        return GpuMemory(text % {"backend": es.backend})
    try:
        model = models.sizes(config)
    except ModelConfigMissing as missing:
        return GpuMemory(str(missing))
    prompts = es.prompts or PROMPTS
    cards = tuple(_plan_on(model, config, gb, prompts) for gb in CARDS_GB)
    return GpuMemory(cards=cards, prompts=prompts, prompts_assumed=not es.prompts)


def _inapplicable(config: RunConfig) -> str | None:
    """Return why no memory of a GPU is planned for the run, or None."""
    if config.method != "es":
        return gettext("GPU memory is planned for runs of method es only.")
    if config.compute.gpus == 0 or config.model.device == "cpu":
        return gettext("The run uses no GPU; memory is planned for GPUs only.")
    return None


def _sizes(config_json: dict[str, Any], config: RunConfig) -> ModelSizes:
    """Return the sizes that config.json states. Raise ModelConfigMissing if they are none."""
    try:
        sizes = ModelSizes.of_config(config_json, 4 if config.model.dtype == "float32" else 2)
    except KeyError as error:
        message = gettext("The config.json of %(model)s does not state %(key)s.")
        raise ModelConfigMissing(message % {"model": config.model.path, "key": error.args[0]}) from error
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ModelConfigMissing(_implausible(config)) from error
    numbers = (sizes.layers, sizes.hidden, sizes.inner, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.vocabulary)
    if not all(1 <= number <= MAX_SIZE for number in numbers):
        raise ModelConfigMissing(_implausible(config))
    return sizes


def _implausible(config: RunConfig) -> str:
    return gettext("The config.json of %(model)s states invalid sizes.") % {"model": config.model.path}


def _plan_on(model: ModelSizes, config: RunConfig, gb: int, prompts: int) -> CardPlan:
    es, gpus = config.es_section(), config.compute.gpus
    engines = es.engines or gpus
    evaluation = evaluation_bytes(
        model, config.evaluation, longest_prompt=PROMPT_TOKENS, max_new_tokens=es.max_new_tokens
    )  # fmt: skip
    on_card = -(-engines // gpus)
    try:
        plan = plan_run(
            model, es, prompts=prompts, longest_prompt=PROMPT_TOKENS, card=gb * GB // on_card, engines=engines,
            evaluation=evaluation,
        )  # fmt: skip
    except CardTooSmall as error:
        return CardPlan(gb, on_card, error.plan, str(error))
    return CardPlan(gb, on_card, plan)
