"""The whole pre-flight check of a run on this machine: memory per GPU, disk, needs. As text, and as JSON."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.config import RunConfig
from workers.config.methods import METHODS
from workers.memory_plan import CardPlan, share_of_card
from workers.preflight.disk import DiskPlan, plan_disk
from workers.preflight.memory import CARDS_GB, PLANNERS, PROMPT_TOKENS, planner_name, prompts_of, read_sizes
from workers.preflight.model_files import NATIVE_MODEL_TYPES, ModelFiles, ModelUnreadable, read_model_files
from workers.preflight.model_needs import model_folder
from workers.preflight.need import MISSING, UNKNOWN, Need
from workers.preflight.needs import check_needs, describe_share

NO_HOURS = "no estimate here: a site estimates the hours from earlier runs."
NO_PLAN = "planned for runs of es and grpo only; watch the machine's curves in a short run."
MARKS = {"ok": "ok", "missing": "MISSING", "unknown": "unknown"}


@dataclass(frozen=True)
class Report:
    """The check of one config. `cards`: a plan for each size of card, or `no_cards`, the reason why there is none.

    `disk`: the run's checkpoints, or `no_disk`; `free`: free bytes where they will be written, None if unknown.
    """

    cards: Sequence[CardPlan]
    no_cards: str
    disk: DiskPlan | None
    no_disk: str
    free: int | None
    needs: Sequence[Need]
    assumption: str = ""
    gpu_share: float | None = 1
    """Fraction of each card that the run requests; None for auto, which takes what its plan needs."""

    @property
    def problems(self) -> list[str]:
        """Return a sentence for everything that keeps the run from its end."""
        problems = [f"{need.name}: {need.sentence}" for need in self.needs if need.state == MISSING]
        if self.cards and not any(card.fits for card in self.cards):
            sizes = ", ".join(f"{card.card_gb:g}" for card in self.cards)
            problems.append(f"GPU memory: the run fits no card of {sizes} GB.{self._share_remedy()}")
        if self.disk is not None and self.free is not None and self.disk.total > self.free:
            problems.append(
                f"Disk: the checkpoints take {_size(self.disk.total)}, and {_size(self.free)} are free. Raise the "
                "number of steps between checkpoints, or free space."
            )
        return problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data; sizes of cards in GB of 10⁹ bytes, of disk in bytes."""
        cards = [
            {"card_gb": c.card_gb, "fits": c.fits, "engines": c.engines, "needed_gb": c.needed_gb,
             "usable_gb": c.usable_gb, "gpu_share": self._share_of(c), "reason": c.reason, **_phases_json(c)}
            for c in self.cards
        ]  # fmt: skip
        return {
            "ok": not self.problems,
            "problems": self.problems,
            "memory": {"cards": cards, "reason": self.no_cards, "assumption": self.assumption},
            "disk": (self.disk.to_json() if self.disk else {}) | {"free_bytes": self.free, "reason": self.no_disk},
            "hours": {"reason": NO_HOURS},
            "needs": [asdict(need) for need in self.needs],
        }

    def to_text(self) -> str:
        """Return the report as lines of text, a section each."""
        sections = {
            "Memory of each GPU": self._memory_lines(),
            "Disk": self._disk_lines(),
            "Hours": iter([NO_HOURS]),
            "Needs": self._need_lines(),
            "Result": iter(self.problems or [self._verdict()]),
        }
        return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items())

    def _share_of(self, card: CardPlan) -> float:
        return share_of_card(card) if self.gpu_share is None else self.gpu_share

    def _share_remedy(self) -> str:
        """Return what changes if the run fits no card because it requests a fraction, as a sentence after a space."""
        if self.gpu_share in (None, 1):
            return ""
        return f" compute.gpus gives it {self.gpu_share:g} of one: raise it, or set it to auto or 1."

    def _verdict(self) -> str:
        unknown = sum(need.state == UNKNOWN for need in self.needs)
        return f"nothing is missing{f'; {unknown} of the needs cannot be checked here' if unknown else ''}."

    def _memory_lines(self) -> Iterator[str]:
        if not self.cards:
            yield self.no_cards
            return
        yield self.assumption
        for card in self.cards:
            need = f"needs {card.needed_gb:6.1f} of {card.usable_gb:.1f} GB"
            shared = f", {card.engines} engines share it" if card.engines > 1 else ""
            shared += f", the run takes {self._share_of(card):g} of it" if self.gpu_share is None else ""
            phases = ", ".join(f"{phase} {size:.1f}" for phase, size in card.phases_gb.items())
            more = f"; {phases or card.summary}" if phases or card.summary else ""
            yield f"{card.card_gb:5.4g} GB  {'fits     ' if card.fits else 'too small'}  {need}{shared}{more}"
            if phases and card.reason:
                yield f"{'':10}{card.reason}."

    def _disk_lines(self) -> Iterator[str]:
        if self.disk is None:
            yield self.no_disk
        else:
            each, count = self.disk.checkpoint, self.disk.checkpoints
            most, left = _size(self.disk.total), _size(self.disk.left)
            parts = ", ".join(f"{name} {_size(value)}" for name, value in asdict(each).items() if value)
            yield f"{count} checkpoint{'s' if count != 1 else ''}; the newest takes {_size(each.total)} ({parts})"
            yield f"at most {most} at once, {left} after the end; records come on top"
        if self.free is not None:
            yield f"{_size(self.free)} are free here"

    def _need_lines(self) -> Iterator[str]:
        for need in self.needs:
            yield f"{MARKS[need.state]:8}{need.name}: {need.sentence}{f' {need.remedy}' if need.remedy else ''}"


def make_report(
    config: RunConfig,
    *,
    cards: Sequence[float] = (),
    gpus: int | None = 0,
    out: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Report:
    """Check a config on this machine.

    `cards`: GB of the cards that the run may get; empty for the usual sizes. `gpus`: the GPUs here, None if the run
    will be elsewhere. `out`: where its checkpoints will be.
    """
    needs = check_needs(config, gpus, environment)
    folder = model_folder(config, environment) if config.is_training else None
    try:
        model = read_model_files(folder) if folder is not None else None
        unreadable = f"the files of {config.model.path} are not on this machine."
    except (ModelUnreadable, OSError) as error:
        model, unreadable = None, f"the model cannot be read: {error}."
    planned, no_cards = _plan_cards(config, model, unreadable, cards)
    disk = plan_disk(config, model) if model is not None else None
    no_disk = "" if disk else unreadable if config.is_training else _no_disk(config)
    return Report(
        planned, no_cards, disk, no_disk, _free_bytes(out), needs,
        assumption=_assumption(config) if planned else "", gpu_share=config.compute.gpu_share,
    )  # fmt: skip


def _no_disk(config: RunConfig) -> str:
    """Return why the checkpoints of a run without training are not planned."""
    if METHODS[config.method].saves_weights:
        return f"not planned for runs of method {config.method}, which save weights without training."
    return "the run trains nothing and saves no checkpoints."


def _plan_cards(
    config: RunConfig, model: ModelFiles | None, unreadable: str, cards: Sequence[float]
) -> tuple[list[CardPlan], str]:
    name = planner_name(config)
    if not config.is_training:
        return [], NO_PLAN
    if not config.compute.devices or config.model.device == "cpu":
        return [], "the run uses no GPU (compute.gpus is 0, or model.device is cpu)."
    if name not in PLANNERS:
        return [], f"with es.backend {name}, memory is not planned before the run."
    if model is None:
        return [], unreadable
    if name == "native" and model.architecture not in NATIVE_MODEL_TYPES:
        return [], f"not planned for models of type {model.architecture or '(none)'}, which transformers answers."
    try:
        sizes = read_sizes(model.config, config)
    except KeyError as error:
        return [], f"the model's config.json does not state {error.args[0]}."
    except ValueError as error:
        return [], f"the model's {error}."
    return [PLANNERS[name](sizes, config, gb) for gb in cards or CARDS_GB], ""


def _assumption(config: RunConfig) -> str:
    tokens, es, compute = f"assumed: prompts of up to {PROMPT_TOKENS} tokens", config.es, config.compute
    if share := describe_share(compute):
        tokens = f"the run has {share} GPU; {tokens}"
    if es is None:
        gpus = f"{compute.devices} GPUs"
        gpus = f"{compute.nodes} nodes with {gpus} each" if compute.nodes > 1 else gpus
        return tokens + (f"; one of {config.processes} processes on {gpus}" if config.processes > 1 else "")
    prompts = f"{prompts_of(es)} prompts in an iteration{'' if es.prompts else ', because es.prompts is 0'}"
    return f"{tokens}, {prompts}"


def _phases_json(card: CardPlan) -> dict[str, Any]:
    """Return the fields that a plan with phases has in addition."""
    if not card.phases:
        return {}
    remedies = [{"sentence": r.describe(), "needed_gb": r.plan.needed_gb} for r in card.remedies]
    return {"parts_gb": card.parts_gb, "phases_gb": card.phases_gb, "remedies": remedies}


def _free_bytes(out: Path | None) -> int | None:
    """Return the free bytes where `out` will be: of its nearest folder that exists."""
    if out is None:
        return None
    folder = out.resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _size(count: int) -> str:
    """Return bytes in a fitting unit of a power of 1000."""
    number, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.0f} {units[0]}" if units[0] == "B" else f"{number:.3g} {units[0]}"
