"""Pages that a link can show, each limited to its own scope: their template contexts and charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from runs import metrics
from runs.access import Scope, Share
from runs.chart_layouts import Layout, arrange
from runs.charts import CHARTS, Chart, Mark, default_charts, draw_names, keys_for_chart, marks
from runs.charts.own import OwnChart, parse_own
from runs.compare import (
    CHART_PX,
    ComparisonSettings,
    charts_for_names,
    comparison_groups,
    key_names,
    key_sections,
    page_context,
    standings_context,
)
from runs.flags import open_flags
from runs.launching.config_form import can_be_cloned
from runs.models import Flag, Run
from runs.run_page import (
    arrange_sections,
    config_sections,
    curve_chart,
    curve_names,
    curve_sections,
    own_run_chart,
    status_context,
)
from runs.sharing.redaction import is_shared_key, shared_config, shared_text

MAX_EXPERIMENT_RUNS = 100
MAX_LINES = 10


class SharedPage(Protocol):
    """A page by link. Charts and sections that are not on it are None; `names` and `sections` list those that are."""

    template: str

    @property
    def runs(self) -> list[Run]: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def sections(self) -> list[str]: ...

    def context(self, settings: ComparisonSettings) -> dict[str, Any]: ...

    def chart(self, name: str, settings: ComparisonSettings, px: int | None) -> Chart | None: ...

    def section(self, name: str, settings: ComparisonSettings) -> dict[str, Any] | None: ...


class SharedComparison:
    """A comparison of the runs that were compared when the link was created, as far as they are still visible to
    everybody."""

    template = "sharing/compare.html"

    def __init__(self, share: Share) -> None:
        self.share = share
        self.runs = _public(share.runs)

    def context(self, settings: ComparisonSettings) -> dict[str, Any]:
        settings = replace(settings, layout=_public_layout(settings.layout))
        return _with_public_texts(page_context(self.runs, settings, self.share.person, is_shared_key))

    def chart(self, name: str, settings: ComparisonSettings, px: int | None) -> Chart | None:
        own, names = parse_own(name), self.names
        if name not in names and (own is None or not set(own.all_keys) <= set(names)):
            return None
        return charts_for_names(self._marks(settings), [name], settings, px)[0]

    @property
    def names(self) -> list[str]:
        return key_names(self.runs, is_shared_key)

    @property
    def sections(self) -> list[str]:
        return [section.name for section in key_sections(self.runs, is_shared_key)]

    def section(self, name: str, settings: ComparisonSettings) -> dict[str, Any] | None:
        keys = {section.name: section for section in key_sections(self.runs, is_shared_key)}.get(name)
        if keys is None:
            return None
        return {
            "charts": charts_for_names(self._marks(settings), keys.first_keys, settings, CHART_PX),
            "total": len(keys.keys),
        }

    def _marks(self, settings: ComparisonSettings) -> list[Mark]:
        return marks(self.runs, comparison_groups(self.runs, settings))


class SharedRun:
    """A page of one run: its state, its curves, its config."""

    template = "sharing/run.html"
    sections: list[str] = []  # noqa: RUF012

    def __init__(self, share: Share) -> None:
        self.runs = _public(share.runs)
        self.run = self.runs[0]

    def context(self, settings: ComparisonSettings) -> dict[str, Any]:
        layout, controls = _public_layout(settings.layout), settings.controls
        own = [own_run_chart(self.run, chart, controls, CHART_PX) for chart in layout.own_charts]
        sections = curve_sections(self.run, self._keys, controls)
        return _with_public_texts({
            "run": self.run, **status_context(self.run), "own_charts": arrange(own, layout),
            "sections": arrange_sections(self.run, sections, layout),
            "config": config_sections(self.run.config, is_foreign=not can_be_cloned(self.run)),
            "is_open": self.run.is_open, "flags": _public_flags(self.run),
            "controls": controls, "chart_layout": layout,
        })  # fmt: skip

    def chart(self, name: str, settings: ComparisonSettings, px: int | None) -> Chart | None:
        if own := parse_own(name):
            return own_run_chart(self.run, own, settings.controls, px) if _is_public(own) else None
        return curve_chart(self.run, self._keys, name, settings.controls, px)

    def section(self, name: str, settings: ComparisonSettings) -> dict[str, Any] | None:
        return None

    @property
    def names(self) -> list[str]:
        return curve_names(self._keys)

    @cached_property
    def _keys(self) -> list[str]:
        """Return the run's keys that readers outside see."""
        return [key for key in metrics.keys(self.run) if is_shared_key(key)]


class SharedExperiment:
    """A page of an experiment: its question, its groups of seeds superposed, and their final results."""

    template = "sharing/experiment.html"
    names = list(CHARTS)  # noqa: RUF012
    sections: list[str] = []  # noqa: RUF012

    def __init__(self, share: Share) -> None:
        if share.experiment is None:
            raise ValueError("this link is not an experiment's")
        self.share, self.experiment = share, share.experiment
        # Never save it.
        for name in ("name", "question"):
            setattr(self.experiment, name, shared_text(getattr(self.experiment, name)))

    @cached_property
    def runs(self) -> list[Run]:
        visible_runs = (
            Run.objects.visible_to(self.share.person)
            .trainings()
            .filter(experiment=self.experiment, archived_at__isnull=True)
        )
        return _public(visible_runs.order_by("-pk")[:MAX_EXPERIMENT_RUNS])

    def context(self, settings: ComparisonSettings) -> dict[str, Any]:
        groups, layout = comparison_groups(self.runs, settings), _public_layout(settings.layout)
        run_marks = marks(self.runs, groups)
        own_names = [chart.name for chart in layout.own_charts]
        names = default_charts(self.runs, metrics.recorded_keys(self.runs))
        charts = self._charts(settings, CHART_PX, [*names, *own_names])
        return _with_public_texts({
            "experiment": self.experiment, "marks": run_marks, "groups": groups, "lines": MAX_LINES,
            "controls": settings.controls, "settings": settings, "chart_layout": layout,
            "placed_charts": arrange(charts, layout), "is_open": any(run.is_open for run in self.runs),
            **standings_context(self.runs, run_marks, settings, self.share.person),
        })  # fmt: skip

    def chart(self, name: str, settings: ComparisonSettings, px: int | None) -> Chart | None:
        own = parse_own(name)
        is_on_page = _is_public(own) if own else name in CHARTS
        return self._charts(settings, px, [name])[0] if is_on_page else None

    def section(self, name: str, settings: ComparisonSettings) -> dict[str, Any] | None:
        return None

    def _charts(self, settings: ComparisonSettings, px: int | None, names: Sequence[str]) -> list[Chart]:
        curves = metrics.read(self.runs, [key for name in names for key in keys_for_chart(name)], x=settings.controls.x)
        charted, origins = {run.pk for run in self.runs[:MAX_LINES]}, metrics.origins_of(self.runs)
        groups = comparison_groups(self.runs, settings)
        return draw_names(names, groups, charted, curves, settings.chart_options(px), origins)


def _is_public(own: OwnChart) -> bool:
    """Return whether readers outside see every key of a chart that a user defined."""
    return all(is_shared_key(key) for key in own.all_keys)


def _public_layout(layout: Layout) -> Layout:
    """Return the layout without the charts that readers outside do not see."""
    return replace(layout, cards=tuple(card for card in layout.cards if card.own is None or _is_public(card.own)))


def _with_public_texts(context: dict[str, Any]) -> dict[str, Any]:
    """Return a page's context with its sentences redacted: they quote the names of runs, and why attempts ended."""
    if "in_words" in context:
        context["in_words"] = shared_text(context["in_words"])
    if "cautions" in context:
        context["cautions"] = [shared_text(sentence) for sentence in context["cautions"]]
    return context


def _public(runs: Iterable[Run]) -> list[Run]:
    """Return the runs with the config, the name and the preset that readers outside see.

    Settings are named after the configs, so the configs are changed before anything is computed from them. Never save
    these runs.
    """
    out = list(runs)
    for run in out:
        run.config = shared_config(run.config)
        run.name, run.preset = shared_text(run.name), shared_text(run.preset)
    return out


def _public_flags(run: Run) -> list[Flag]:
    """Return the run's open flags without the names of other runs and of scorers. Never save them."""
    flags = open_flags([run.pk]).get(run.pk, [])
    for flag in flags:
        flag.compared_with = ""
        if flag.detector == "score":
            flag.key = flag.key.rpartition("/")[2]
        flag.key = shared_text(flag.key)
    return flags


PAGES: dict[Scope, type[SharedComparison] | type[SharedRun] | type[SharedExperiment]] = {
    Scope.RUN: SharedRun,
    Scope.EXPERIMENT: SharedExperiment,
    Scope.COMPARE: SharedComparison,
}
