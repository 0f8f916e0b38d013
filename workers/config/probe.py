"""Settings of method probe: weights to examine, and the probes. Prompts are set in the section evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from workers.config.decode import Problem
from workers.config.fields import Bounds, Resource, Shape

PROBES = ("magnitude", "spectrum", "cosine", "overlap", "audit", "interpolation", "perturbation", "curvature")
"""All probes, in the order in which they run: those of the weights alone first."""
GROUPS = ("all", "embedding", "attention", "mlp", "norm", "head")
"""Groups of tensors that a perturbation may be limited to. A head that is tied to the embedding counts as the head."""
LAYERS = re.compile(r"layers:(\d{1,4})-(\d{1,4})", re.ASCII)
"""A group of all tensors of some layers, first and last included; they are counted from 0."""
NUMBERS = Shape(r"\d+(\.\d+)?([eE]-?\d+)?(\s*,\s*\d+(\.\d+)?([eE]-?\d+)?)*", "numbers separated by commas")
MAX_RUNS = 8
MAX_PERTURBED = 10_000
"""Most perturbed models of a run: a record of the kind probe may have 20 000 values."""


@dataclass(frozen=True)
class ProbeConfig:
    """Examination of weights without training: those of model.path, or of one or more runs."""

    runs: Annotated[tuple[str, ...], Resource("runs")] = ()
    """Runs to examine, such as run:<uid>@<step>; without a step, the last one that exists. If you start by hand, give
    folders of their attempts, also with @<step>. Empty examines model.path alone."""
    base: Annotated[str, Resource("score_model")] = ""
    """Base model from which changes of the weights are counted; empty means the base model of each run. For model.path
    alone, empty means that only the perturbation runs, which needs no base."""
    probes: tuple[str, ...] = PROBES
    """Probes to run: magnitude, spectrum, cosine, overlap, audit, interpolation, perturbation, curvature."""
    draws: Annotated[int, Bounds(at_least=2, at_most=1000)] = 8
    """Random draws: perturbed models for each σ and group, directions of the curvature, and matrices of the null of
    spectrum and overlap."""
    sigmas: Annotated[str, NUMBERS] = "0.005, 0.01, 0.02"
    """Standard deviations σ of the perturbations."""
    groups: tuple[str, ...] = ("all", "attention", "mlp", "head")
    """Groups of tensors that are perturbed: all, embedding, attention, mlp, norm, head, or layers, such as
    layers:0-9."""
    temperatures: Annotated[str, NUMBERS] = "0.5, 1"
    """Temperatures of the samples that perturbations of all tensors are compared with, at as many samples as draws."""
    points: Annotated[int, Bounds(at_least=3, at_most=101)] = 11
    """Points of a straight line between two models, both ends included, and steps of a run at which its magnitude is
    measured."""
    rank: Annotated[int, Bounds(at_least=1, at_most=256)] = 8
    """Dimensions of the subspaces whose overlap is measured."""
    responses: Annotated[int, Bounds(at_least=1, at_most=10_000)] = 32
    """Stored greedy responses of a run on which its curvature is measured; a run without any answers the prompts."""

    def problems(self) -> Iterator[Problem]:
        yield from _unknown("probes", self.probes, PROBES)
        yield from _unknown("groups", self.groups, (*GROUPS, *filter(LAYERS.fullmatch, self.groups)), "layers:0-9")
        if not self.probes:
            yield Problem("probes", f"must name at least one of {', '.join(PROBES)}")
        if len(self.runs) > MAX_RUNS:
            yield Problem("runs", f"names {len(self.runs)} runs; at most {MAX_RUNS} can be examined together")
        repeated = sorted({name for name in self.runs if self.runs.count(name) > 1})
        if repeated:
            yield Problem("runs", f"names {', '.join(repeated)} more than once")
        perturbed = len(numbers(self.sigmas)) * len(self.groups) * self.draws
        if perturbed > MAX_PERTURBED:
            reason = (
                f"{self.draws} draws for each σ and group are {perturbed} perturbed models, more than {MAX_PERTURBED}"
            )
            yield Problem("draws", reason)
        if any(number <= 0 for number in numbers(self.temperatures)):
            yield Problem("temperatures", "must be above 0; a temperature of 0 has no samples that differ")

    def is_selected(self, probe: str) -> bool:
        """Return whether this probe runs."""
        return probe in self.probes


def numbers(text: str) -> list[float]:
    """Return the numbers of a text that has the form NUMBERS, each once, in ascending order."""
    return sorted({float(number) for number in text.split(",")})


def _unknown(field: str, names: tuple[str, ...], choices: tuple[str, ...], more: str = "") -> Iterator[Problem]:
    """Yield a problem for each name that is no choice, and for each that is repeated. `more` is a further form."""
    for name in dict.fromkeys(names):
        if name not in choices:
            also = f", or layers such as {more}" if more else ""
            yield Problem(field, f"names {name!r}; the choices are {', '.join(choices)}{also}")
        elif names.count(name) > 1:
            yield Problem(field, f"names {name} more than once")
