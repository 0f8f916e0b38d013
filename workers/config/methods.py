"""The methods of runs, which is what a config's `method` may be. Each has a section of its name in `RunConfig`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True)
class Method:
    """One method. Pages translate its title and its choice."""

    title: str
    short_title: str
    """Title beside a curve or in a badge."""
    choice: str = ""
    """Text of its radio button; empty means the title."""
    is_training: bool = False
    """Whether a run of the method changes weights."""
    saves_weights: bool = False
    """Whether its runs save weights, which evaluations and probes may examine."""
    reads_model: bool = False
    """Whether it generates with the model of `model.path`, so that this must be on its machine."""
    needs_torch: bool = False
    """Whether it needs torch and transformers."""
    steps: str = ""
    """Setting of its section that has the number of updates."""
    has_members: bool = False
    """Whether each update compares the members of a population; else the records of a step are groups of responses."""
    is_replayed: bool = False
    """Whether a replay log rebuilds the weights of every step."""
    is_section_optional: bool = False
    """Whether a config may omit the section, because all of its defaults make sense together."""
    unread_sections: tuple[str, ...] = ()
    """Sections of all configs that the method does not read."""


METHODS: Mapping[str, Method] = {
    "es": Method(
        "Evolution Strategies", "ES", is_training=True, steps="iterations", has_members=True, is_replayed=True,
        saves_weights=True, reads_model=True, needs_torch=True,
    ),
    "grpo": Method(
        "GRPO", "GRPO", is_training=True, steps="max_steps", saves_weights=True, reads_model=True, needs_torch=True
    ),
    "evaluate": Method(
        "Evaluation without training",
        "evaluate",
        choice="Evaluation of a model or a run, no training",
        reads_model=True,
        needs_torch=True,
        is_section_optional=True,
    ),
    "probe": Method(
        "Examination of weights without training",
        "probe",
        choice="Examination of the weights of a model or of runs, no training",
        needs_torch=True,
        is_section_optional=True,
    ),
    "audit": Method(
        "Audit of the reward before training",
        "audit",
        choice="Audit of the reward, no training",
        is_section_optional=True,
        unread_sections=("evaluation",),
    ),
    "scorer": Method(
        "Scorer",
        "scorer",
        choice="A scorer, no training",
        unread_sections=("task", "evaluation"),
    ),
}  # fmt: skip

TRAINING_METHODS = tuple(name for name, method in METHODS.items() if method.is_training)
EXAMINABLE_METHODS = tuple(name for name, method in METHODS.items() if method.saves_weights)


def alternatives(names: Sequence[str]) -> str:
    """Return names as a choice in a sentence: `es, grpo or merge`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


EXAMINABLE_TEXT = alternatives(EXAMINABLE_METHODS)

if TYPE_CHECKING:
    MethodName = str
else:
    MethodName = Literal[*METHODS]


def method_of(name: str) -> Method:
    """Return a method; one with this title and no more if esweb does not have it, as in imported runs."""
    return METHODS.get(name) or Method(name, name)


def short_title(method: str) -> str:
    """Return the short title of a method; the name itself of one that esweb does not have."""
    return method_of(method).short_title
