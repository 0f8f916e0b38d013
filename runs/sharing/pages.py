"""The pages that a link can show, each from its own scope alone: what to render, and the charts that it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Protocol

from runs import metrics
from runs.access import Scope, Share
from runs.charts import Chart, Look, groups_of, marks
from runs.compare import CHART_PX, Settings, charts_of, key_names, key_sections, page_context, standings_context
from runs.compare.charts.methods import CHARTS, compare, keys_of
from runs.http import Axes
from runs.models import Run
from runs.run_page import SYSTEM, config_sections, curve_chart, curve_names, curve_sections, standing

RUNS_OF_AN_EXPERIMENT = 100
LINES = 10
UNSHARED = ("compute", "tracking")
"""Sections of a config that speak of the site and not of the training: they are not shown outside."""


class SharedPage(Protocol):
    """A page by link. Charts and sections that are not on it are None; `names` and `sections` are those that are."""

    template: str

    @property
    def runs(self) -> list[Run]: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def sections(self) -> list[str]: ...

    def context(self, settings: Settings) -> dict[str, Any]: ...

    def chart(self, name: str, settings: Settings, px: int | None) -> Chart | None: ...

    def section(self, name: str, settings: Settings) -> dict[str, Any] | None: ...


class SharedComparison:
    """The runs that were compared when the link was made, as far as they are still there for everybody."""

    template = "sharing/compare.html"

    def __init__(self, share: Share) -> None:
        self.share = share
        self.runs = _public(share.runs)

    def context(self, settings: Settings) -> dict[str, Any]:
        return page_context(self.runs, settings, self.share.person)

    def chart(self, name: str, settings: Settings, px: int | None) -> Chart | None:
        return charts_of(marks(self.runs), [name], settings, px)[0] if name in self.names else None

    @property
    def names(self) -> list[str]:
        return key_names(self.runs)

    @property
    def sections(self) -> list[str]:
        return [section.name for section in key_sections(self.runs)]

    def section(self, name: str, settings: Settings) -> dict[str, Any] | None:
        keys = {section.name: section for section in key_sections(self.runs)}.get(name)
        if keys is None:
            return None
        return {"charts": charts_of(marks(self.runs), keys.shown, settings, CHART_PX), "total": len(keys.keys)}


class SharedRun:
    """One run: how it stands, its curves, its config."""

    template = "sharing/run.html"
    sections: list[str] = []  # noqa: RUF012

    def __init__(self, share: Share) -> None:
        self.runs = _public(share.runs)
        self.run = self.runs[0]

    def context(self, settings: Settings) -> dict[str, Any]:
        return {
            "run": self.run, **standing(self.run), "sections": curve_sections(self.run, self._keys, _axes(settings)),
            "config": config_sections(self.run.config), "is_open": self.run.is_open,
        }  # fmt: skip

    def chart(self, name: str, settings: Settings, px: int | None) -> Chart | None:
        return curve_chart(self.run, self._keys, name, _axes(settings), px, settings.zoom)

    def section(self, name: str, settings: Settings) -> dict[str, Any] | None:
        return None

    @property
    def names(self) -> list[str]:
        return curve_names(self._keys)

    @cached_property
    def _keys(self) -> list[str]:
        """Without what is said of the site's machines."""
        return [key for key in metrics.keys(self.run) if not key.startswith(SYSTEM)]


def _axes(settings: Settings) -> Axes:
    return Axes(settings.x, settings.log_y)


class SharedExperiment:
    """An experiment: its question, its groups of seeds over each other, and where they ended."""

    template = "sharing/experiment.html"
    names = list(CHARTS)  # noqa: RUF012
    sections: list[str] = []  # noqa: RUF012

    def __init__(self, share: Share) -> None:
        if share.experiment is None:
            raise ValueError("this link is not an experiment's")
        self.share, self.experiment = share, share.experiment

    @cached_property
    def runs(self) -> list[Run]:
        mine = Run.objects.visible_to(self.share.person).filter(experiment=self.experiment, archived_at__isnull=True)
        return _public(mine.order_by("-pk")[:RUNS_OF_AN_EXPERIMENT])

    def context(self, settings: Settings) -> dict[str, Any]:
        told = marks(self.runs)
        return {
            "experiment": self.experiment, "marks": told, "groups": groups_of(self.runs), "lines": LINES,
            "charts": self._charts(settings, CHART_PX), "is_open": any(run.is_open for run in self.runs),
            **standings_context(self.runs, told, settings, self.share.person),
        }  # fmt: skip

    def chart(self, name: str, settings: Settings, px: int | None) -> Chart | None:
        return next(iter(self._charts(settings, px, [name])), None) if name in CHARTS else None

    def section(self, name: str, settings: Settings) -> dict[str, Any] | None:
        return None

    def _charts(self, settings: Settings, px: int | None, names: Sequence[str] = CHARTS) -> list[Chart]:
        curves = metrics.read(self.runs, [key for name in names for key in keys_of(name)], x=settings.x)
        shown, how = {run.pk for run in self.runs[:LINES]}, Look(settings.x, settings.log_y, px=px, zoom=settings.zoom)
        return compare(groups_of(self.runs), shown, curves, how, names, metrics.origins_of(self.runs))


def _public(runs: Iterable[Run]) -> list[Run]:
    """The runs, their configs without what speaks of the site: clusters, tokens' files, folders that files lie in.

    Settings are named after their configs, so these are mended before anything is made of them. Never saved.
    """
    out = list(runs)
    for run in out:
        run.config = {name: _without_folders(value) for name, value in run.config.items() if name not in UNSHARED}
    return out


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_folders(inner) for name, inner in value.items()}
    is_path = isinstance(value, str) and value.startswith(("/", "~"))
    return f"…/{PurePosixPath(value).name}" if is_path else value


PAGES: dict[Scope, type[SharedComparison] | type[SharedRun] | type[SharedExperiment]] = {
    Scope.RUN: SharedRun,
    Scope.EXPERIMENT: SharedExperiment,
    Scope.COMPARE: SharedComparison,
}
