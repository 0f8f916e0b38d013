"""The GPU memory that a run would take, planned before its launch for cards of usual sizes.

A trainer plans in the same way, for the card and the prompts that it finds (`workers.memory_plan`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.create import cluster_of
from runs.launching.gpu_memory.grpo import CardRemedies, list_parts, list_phases, list_remedies
from runs.launching.gpu_memory.model_config import ModelConfigMissing, read_model
from workers.config import RunConfig
from workers.memory_plan import ModelSizes
from workers.preflight import (
    CARDS_GB,
    CardPlan,
    GrpoCardPlan,
    ModelFiles,
    VllmCardPlan,
    plan_card,
    plan_grpo_card,
    plan_vllm_card,
)
from workers.preflight.memory import PROMPT_TOKENS, grpo_section, prompts_of, read_sizes

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
class GpuMemory:
    """A plan for each of CARDS_GB, or the `reason` why there is none, in the language of the page.

    `cards` are those of es.backend native, `vllm_cards` those of vllm, `grpo_cards` those of method grpo, which has
    `processes` on `nodes`. `on_gpus`: whether the run trains on GPUs. `prompts`: those of an iteration, or those that
    grpo generates for together; `prompts_assumed` if the config leaves them to the task.
    """

    reason: str = ""
    on_gpus: bool = True
    cards: tuple[CardPlan, ...] = ()
    vllm_cards: tuple[VllmCardPlan, ...] = ()
    grpo_cards: tuple[GrpoCardPlan, ...] = ()
    processes: int = 1
    nodes: int = 1
    prompts: int = 0
    prompts_assumed: bool = False
    prompt_tokens: int = PROMPT_TOKENS

    @property
    def parts(self) -> list[tuple[str, list[float]]]:
        """Return (part in words, its GB on each card), without parts that are nowhere more than 0."""
        rows = [(gettext(words), [card.parts_gb[part] for card in self.cards]) for part, words in PARTS.items()]
        return [(words, sizes) for words, sizes in rows if any(sizes)]

    @property
    def grpo_parts(self) -> list[tuple[str, list[float]]]:
        """Return (part in words, its GB on each card) of a GRPO run, without parts that are nowhere more than 0."""
        return list_parts(self.grpo_cards)

    @property
    def grpo_phases(self) -> list[tuple[str, list[float]]]:
        """Return (phase in words, its peak in GB on each card) of a GRPO run."""
        return list_phases(self.grpo_cards)

    @property
    def grpo_remedies(self) -> list[CardRemedies]:
        """Return the changes with which a GRPO run fits, for each card that is too small."""
        return list_remedies(self.grpo_cards)

    @property
    def fitting(self) -> list[int]:
        """Return the GB of the cards that hold the run."""
        return [int(card.gb) for card in self.planned if card.fits]

    @property
    def planned(self) -> tuple[CardPlan, ...] | tuple[VllmCardPlan, ...] | tuple[GrpoCardPlan, ...]:
        """Return the plans, whichever the method and the back end."""
        return self.cards or self.vllm_cards or self.grpo_cards

    @property
    def fits_all(self) -> bool:
        """Return whether each card holds the run."""
        return len(self.fitting) == len(self.planned)

    @property
    def demand(self) -> tuple[int, float]:
        """Return what orders plans: the number of cards that are too small, and the bytes on the smallest card."""
        return len(self.planned) - len(self.fitting), self.planned[0].needed_gb if self.planned else 0


def plan_gpu_memory(configs: Iterable[RunConfig], person: User, models: Models | None = None) -> list[GpuMemory]:
    """Return the memory that each of these runs would take on each GPU, in order.

    The configs are those of a launch that `check` or `plan_sweep` accepts. `models` shares what is read with another
    check. Raise ConfigError for an unknown cluster.
    """
    models = models or Models(person)
    return [_plan(config, models) for config in configs]


def largest_plan(plans: Iterable[GpuMemory]) -> GpuMemory | None:
    """Return the plan that needs most: the most cards are too small, then the most bytes. None without plans."""
    return max(plans, key=lambda plan: plan.demand, default=None)


class Models:
    """Files of the models that the runs of one launch name, each read once."""

    def __init__(self, person: User) -> None:
        self._person = person
        self._read: dict[tuple[str, str], ModelFiles | ModelConfigMissing] = {}

    def read(self, config: RunConfig) -> ModelFiles:
        """Return the files of the run's model. Raise ModelConfigMissing."""
        key = (config.model.path, config.compute.cluster)
        if key not in self._read:
            try:
                self._read[key] = read_model(config, self._person, cluster_of(config))
            except ModelConfigMissing as missing:
                self._read[key] = missing
        model = self._read[key]
        if isinstance(model, ModelConfigMissing):
            raise model
        return model


def _plan(config: RunConfig, models: Models) -> GpuMemory:
    if (reason := _inapplicable(config)) is not None:
        return GpuMemory(reason, on_gpus=False)
    es = config.es
    if es is not None and es.backend not in ("native", "vllm"):
        text = gettext("With es.backend %(backend)s, memory is planned when the run starts, not here.")
        return GpuMemory(text % {"backend": es.backend})
    try:
        sizes = _sizes(models.read(config), config)
    except ModelConfigMissing as missing:
        return GpuMemory(str(missing))
    if es is None:
        return _plan_grpo(sizes, config)
    planned = GpuMemory(prompts=prompts_of(es), prompts_assumed=not es.prompts, nodes=config.compute.nodes)
    if es.backend == "vllm":
        return replace(planned, vllm_cards=tuple(plan_vllm_card(sizes, config, gb) for gb in CARDS_GB))
    return replace(planned, cards=tuple(plan_card(sizes, config, gb) for gb in CARDS_GB))


def _plan_grpo(sizes: ModelSizes, config: RunConfig) -> GpuMemory:
    grpo = grpo_section(config)
    batch = grpo.per_device_train_batch_size * grpo.gradient_accumulation_steps * config.processes
    return GpuMemory(
        grpo_cards=tuple(plan_grpo_card(sizes, config, gb) for gb in CARDS_GB), processes=config.processes,
        nodes=config.compute.nodes, prompts=batch // grpo.num_generations,
    )  # fmt: skip


def _inapplicable(config: RunConfig) -> str | None:
    """Return why no memory of a GPU is planned for the run, or None."""
    if not config.is_training:
        return gettext("GPU memory is planned for runs that train only.")
    if config.compute.gpus == 0 or config.model.device == "cpu":
        return gettext("The run uses no GPU; memory is planned for GPUs only.")
    return None


def _sizes(model: ModelFiles, config: RunConfig) -> ModelSizes:
    """Return the sizes that config.json states. Raise ModelConfigMissing if they are none."""
    try:
        return read_sizes(model.config, config)
    except KeyError as error:
        message = gettext("The config.json of %(model)s does not state %(key)s.")
        raise ModelConfigMissing(message % {"model": config.model.path, "key": error.args[0]}) from error
    except ValueError as error:
        raise ModelConfigMissing(_implausible(config)) from error


def _implausible(config: RunConfig) -> str:
    return gettext("The config.json of %(model)s states invalid sizes.") % {"model": config.model.path}
