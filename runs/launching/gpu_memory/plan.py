"""The GPU memory that a run would take, planned before its launch for cards of usual sizes.

A trainer plans in the same way, for the card and the prompts that it finds (`workers.memory_plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs.launching.create import cluster_of
from runs.launching.gpu_memory.labels import PARTS, PHASES, describe_remedy
from runs.launching.gpu_memory.model_config import ModelConfigMissing, read_model
from workers.config import RunConfig
from workers.memory_plan import CardPlan, ModelSizes, share_of_card
from workers.preflight import CARDS_GB, PLANNERS, ModelFiles
from workers.preflight.memory import PROMPT_TOKENS, grpo_section, planner_name, prompts_of, read_sizes

Rows = list[tuple[str, list[float]]]
"""Label -> GB on each card."""


@dataclass(frozen=True)
class GpuMemory:
    """A plan for each of CARDS_GB, or the `reason` why there is none, in the language of the page.

    `planner`: the name in PLANNERS of the one that made them. `processes` of a run of method grpo are on `nodes`.
    `on_gpus`: whether the run trains on GPUs. `gpu_share`: the share of each that it requests, None for auto.
    `prompts`: those of an iteration, or those that grpo generates for together; `prompts_assumed` if the config leaves
    them to the task.
    """

    reason: str = ""
    on_gpus: bool = True
    gpu_share: float | None = 1
    planner: str = ""
    cards: tuple[CardPlan, ...] = ()
    processes: int = 1
    nodes: int = 1
    prompts: int = 0
    prompts_assumed: bool = False
    prompt_tokens: int = PROMPT_TOKENS

    @property
    def rows(self) -> list[tuple[CardPlan, float | None]]:
        """Return each card with the share of it that a run with auto takes; None for other runs, and if it does not
        fit."""
        return [(card, share_of_card(card) if self.gpu_share is None and card.fits else None) for card in self.cards]

    @property
    def parts(self) -> Rows:
        """Return the parts on each card, without those that are nowhere more than 0."""
        labels = PARTS.get(self.planner, {}).items()
        rows = [(gettext(label), [card.parts_gb[part] for card in self.cards]) for part, label in labels]
        return [(label, sizes) for label, sizes in rows if any(sizes)]

    @property
    def phases(self) -> Rows:
        """Return the peaks of the phases on each card; none if the run holds all parts at the same time."""
        labels = PHASES.items() if any(card.phases for card in self.cards) else ()
        return [(gettext(label), [card.phases_gb[phase] for card in self.cards]) for phase, label in labels]

    @property
    def remedies(self) -> list[tuple[CardPlan, list[str]]]:
        """Return each card that is too small, with the changes with which the run fits, as imperatives."""
        return [(card, [describe_remedy(r) for r in card.remedies]) for card in self.cards if not card.fits]

    @property
    def fitting(self) -> list[int]:
        """Return the GB of the cards that hold the run."""
        return [int(card.card_gb) for card in self.cards if card.fits]

    @property
    def fits_all(self) -> bool:
        """Return whether each card holds the run."""
        return len(self.fitting) == len(self.cards)

    @property
    def demand(self) -> tuple[int, int]:
        """Return what orders plans: the number of cards that are too small, and the bytes on the smallest card."""
        return len(self.cards) - len(self.fitting), self.cards[0].needed if self.cards else 0


def plan_gpu_memory(configs: Iterable[RunConfig], person: User, models: Models | None = None) -> list[GpuMemory]:
    """Return the memory that each of these runs would take on each GPU, in order.

    The configs are those of a launch that `check` or `plan_sweep` accepts. `models` shares what is read with another
    check. Raise ConfigError for an unknown cluster.
    """
    models = models or Models(person)
    return [_plan(config, models) for config in configs]


def plan_on_card(config: RunConfig, models: Models, gb: float) -> CardPlan | str:
    """Return the memory that a run would take on a GPU of `gb` · 10⁹ bytes, or the reason why that is not known."""
    planned = _plan(config, models, (gb,))
    return planned.cards[0] if planned.cards else planned.reason


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


def _plan(config: RunConfig, models: Models, sizes_gb: Sequence[float] = CARDS_GB) -> GpuMemory:
    if (reason := _inapplicable(config)) is not None:
        return GpuMemory(reason, on_gpus=False)
    name = planner_name(config)
    if name not in PLANNERS:
        text = gettext("With es.backend %(backend)s, memory is planned when the run starts, not here.")
        return GpuMemory(text % {"backend": name})
    try:
        sizes = _sizes(models.read(config), config)
    except ModelConfigMissing as missing:
        return GpuMemory(str(missing))
    cards = tuple(PLANNERS[name](sizes, config, gb) for gb in sizes_gb)
    es, nodes, share = config.es, config.compute.nodes, config.compute.gpu_share
    if es is not None:
        return GpuMemory(
            gpu_share=share, planner=name, cards=cards, nodes=nodes, prompts=prompts_of(es),
            prompts_assumed=not es.prompts,
        )  # fmt: skip
    grpo = grpo_section(config)
    batch = grpo.per_device_train_batch_size * grpo.gradient_accumulation_steps * config.processes
    prompts = batch // grpo.num_generations
    return GpuMemory(
        gpu_share=share, planner=name, cards=cards, processes=config.processes, nodes=nodes, prompts=prompts
    )  # fmt: skip


def _inapplicable(config: RunConfig) -> str | None:
    """Return why no memory of a GPU is planned for the run, or None."""
    if not config.is_training:
        return gettext("GPU memory is planned for runs that train only.")
    if config.compute.devices == 0 or config.model.device == "cpu":
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
