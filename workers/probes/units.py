"""The units of a probe run: each probe of each subject, or of each pair of subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from workers import tasks
from workers.config import RunConfig
from workers.config.probe import PROBES, ProbeConfig, numbers
from workers.probes.audit import audit_probe
from workers.probes.behaviour import End, PromptedModel, curvature, interpolation, perturbation
from workers.probes.geometry import cosine, magnitude, overlap, spectrum
from workers.probes.progress import Wait
from workers.probes.weights import Subject
from workers.probes.weights.open_subjects import Report
from workers.records import Probe
from workers.tasks.protocols import WaitingTask


@dataclass(frozen=True)
class Unit:
    """A probe of one subject or of a pair. `run` returns its records."""

    title: str
    run: Callable[[], Iterable[Probe]]


@dataclass
class Units:
    """All units of a config, probes of the weights alone first. `check` raises Interrupted on a stop.

    The model that answers prompts is loaded when the first unit needs it; all subjects have its shapes.
    """

    config: RunConfig
    settings: ProbeConfig
    subjects: Sequence[Subject]
    check: Callable[[], None]
    wait: Wait
    report: Report
    _loaded: PromptedModel | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[Unit]:
        draws, seed = self.settings.draws, self.config.seed
        makers: dict[str, Callable[[], Iterator[Unit]]] = {
            "magnitude": lambda: self._of_changes("magnitude", partial(magnitude, points=self.settings.points)),
            "spectrum": lambda: self._of_changes("spectrum", partial(spectrum, draws=draws, seed=seed)),
            "cosine": lambda: self._of_pairs("cosine", cosine),
            "overlap": lambda: self._of_pairs(
                "overlap", partial(overlap, rank=self.settings.rank, draws=draws, seed=seed)
            ),
            "audit": lambda: self._of_changes("audit", audit_probe),
            "interpolation": self._lines,
            "perturbation": self._perturbations,
            "curvature": lambda: self._of_changes("curvature", self._curvature),
        }
        for name in filter(self.settings.is_selected, PROBES):
            yield from makers[name]()

    @property
    def _changed(self) -> list[Subject]:
        """Return the subjects whose base is known, so that they have a change."""
        return [subject for subject in self.subjects if subject.base is not None]

    def _of_changes(self, name: str, run: Callable[[Subject], Iterable[Probe]]) -> Iterator[Unit]:
        for subject in self._changed:
            yield Unit(f"{name} of {subject}", partial(run, subject))

    def _of_pairs(self, name: str, run: Callable[[Subject, Subject], Iterable[Probe]]) -> Iterator[Unit]:
        for first, second in combinations(self._changed, 2):
            yield Unit(f"{name} of {first} and {second}", partial(run, first, second))

    def _lines(self) -> Iterator[Unit]:
        """Yield the lines from each base model to its subject, and between all pairs of subjects."""
        ends = [End.tuned_of(subject) for subject in self.subjects]
        bases = ((End.base_of(subject), end) for subject, end in zip(self.subjects, ends, strict=True))
        for first, second in [*((base, end) for base, end in bases if base), *combinations(ends, 2)]:
            yield Unit(f"interpolation from {first.name} to {second.name}", partial(self._line, first, second))

    def _line(self, first: End, second: End) -> Iterable[Probe]:
        points, seed = self.settings.points, self.config.seed
        return interpolation(self._model(), first, second, points, seed, self.check)

    def _perturbations(self) -> Iterator[Unit]:
        for subject in self.subjects:
            yield Unit(f"perturbation of {subject}", partial(self._perturbation, subject))

    def _perturbation(self, subject: Subject) -> Iterable[Probe]:
        sigmas, temperatures = numbers(self.settings.sigmas), numbers(self.settings.temperatures)
        groups, seed = self.settings.groups, self.config.seed
        return perturbation(self._model(), subject, sigmas, groups, self.settings.draws, temperatures, seed, self.check)

    def _curvature(self, subject: Subject) -> Iterable[Probe]:
        responses, draws, seed = self.settings.responses, self.settings.draws, self.config.seed
        return curvature(self._model(), subject, responses, draws, seed, self.check)

    def _model(self) -> PromptedModel:
        if self._loaded is None:
            task = tasks.make(self.config.task)
            if isinstance(task, WaitingTask):
                task.waits_by(self.wait)
            first = self.subjects[0]
            self._loaded = PromptedModel.open(first.tuned, self.config, task, first.config, self.report)
        return self._loaded
