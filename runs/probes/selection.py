"""Selection of the probe runs, and of the measure that a page shows of them, from an address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import kinds
from runs.charts import Group, Mark
from runs.charts.marks import letter
from runs.http import SignedIn, UnknownChoice, must_be_one_of, require_choice
from runs.models import Experiment, ProbeResult, Run
from runs.probes.measures import ProbeMeasure, measure_of, place, probe_title
from runs.probes.results import READS_RESPONSES, Subject, newest, subjects_of

MAX_RUNS = 50
MAX_LINES = 12
"""Number of lines of a chart; tables and files have all results."""
MAX_MAPS = 28
"""Number of heat maps side by side: all pairs of the eight runs that a probe may examine."""
COLOURINGS = {"deviation": _("distance from chance"), "value": _("value")}
"""Ways to colour heat maps."""


@dataclass(frozen=True)
class ProbeSeries:
    """Results of a probe run for one subject, or for two that it compares. mark: its letter, and a group with the
    method of the subject, in which no other series is. source: the step whose responses the probe read, if it is
    another one than the subject."""

    mark: Mark
    subject: Subject
    other: Subject | None
    source: Subject | None = None

    @property
    def letter(self) -> str:
        return self.mark.letter

    @property
    def run(self) -> Run:
        """Return the probe run."""
        return self.mark.run

    @property
    def subjects(self) -> list[Subject]:
        """Return the subject, and the one that it is compared with."""
        return [self.subject, self.other] if self.other else [self.subject]

    @property
    def title(self) -> str:
        """Return the names of what was examined, with their steps."""
        names = " × ".join(name_with_step(subject) for subject in self.subjects)
        if self.source is None:
            return names
        return gettext("%(names)s, responses of %(source)s") % {"names": names, "source": name_with_step(self.source)}

    @property
    def kind(self) -> str:
        """Return the methods of what was examined, such as ES × GRPO."""
        return " × ".join(subject.method.upper() or subject.title for subject in self.subjects)


@dataclass(frozen=True)
class ProbeChoice:
    """The chosen probe runs, oldest first, and a measure of them.

    total: number of the probe runs to choose from. measures: (probe, key) of all with results. series: those of the
    measure's probe, whether or not they have this measure. results: the measure's results, without their values.
    subject: the only one whose series are chosen; empty for all.
    """

    runs: list[Run]
    offered: list[Run]
    total: int
    measures: list[tuple[str, str]]
    measure: ProbeMeasure | None
    series: list[ProbeSeries]
    results: list[tuple[ProbeSeries, ProbeResult]]
    subjects: Mapping[str, Subject]
    subject: str
    problems: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """Return the value of the parameter that selects the measure."""
        return self.measure.value if self.measure else ""

    @property
    def offered_measures(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the title of each probe with (value of the parameter, title) of its measures."""
        out: dict[str, list[tuple[str, str]]] = {}
        for probe, key in self.measures:
            out.setdefault(probe_title(probe), []).append((f"{probe}/{key}", measure_of(probe, key).title))
        return list(out.items())

    @property
    def offered_subjects(self) -> list[tuple[str, str]]:
        """Return (value of the parameter, name) of each subject."""
        return [(text, name_with_step(subject)) for text, subject in self.subjects.items()]


def name_with_step(subject: Subject) -> str:
    """Return the name of a subject with its step."""
    if not subject.step:
        return subject.title
    return gettext("%(name)s at step %(step)s") % {"name": subject.title, "step": subject.step}


def parse_choice(request: SignedIn, experiment: Experiment) -> ProbeChoice:
    """Return what the address selects: the named probe runs, else the newest, and a measure of them.

    Probe runs of the experiment, and those elsewhere of its trainings, are offered. Raise UnknownChoice for a measure
    or a subject without results, and if none of the named probe runs exists.
    """
    rows = (
        Run.objects.visible_to(request.user)
        .filter(Q(experiment=experiment) | Q(parent__experiment=experiment), archived_at=None)
        .of_kind(kinds.PROBE)
        .select_related("experiment").order_by("-pk")
    )  # fmt: skip
    offered = list(rows[:MAX_RUNS])
    named = list(dict.fromkeys(request.GET.getlist("run")))
    shown, problems = _named(request, named, [run.uid for run in offered]) if named else (offered, ())
    runs = sorted(shown, key=lambda run: run.pk)
    results = list(newest(runs).defer("values")) if runs else []
    measures = sorted({(result.probe, result.measure) for result in results}, key=lambda pair: place(*pair))
    values = [f"{probe}/{key}" for probe, key in measures]
    value = require_choice(request, "measure", values, values[0] if values else "")
    measure = measure_of(*measures[values.index(value)]) if value else None
    of_probe = [result for result in results if measure and result.probe == measure.probe]
    texts = list(dict.fromkeys(text for r in of_probe for text in (r.subject, r.other) if text))
    subject = require_choice(request, "subject", texts, "")
    subjects = subjects_of(texts, request.user)
    series = _list_series(runs, of_probe, subjects)
    chosen = {key: own for key, own in series.items() if subject in ("", key[1], key[2])}
    drawn = [
        (chosen[key], result)
        for result in of_probe
        if measure and result.measure == measure.key and (key := _key(result)) in chosen
    ]
    drawn.sort(key=lambda pair: (len(pair[0].letter), pair[0].letter))
    return ProbeChoice(
        runs, offered, rows.count(), measures, measure, list(chosen.values()), drawn, subjects, subject, problems
    )


def _key(result: ProbeResult) -> tuple[int, str, str]:
    return result.run_id, result.subject, result.other


def _list_series(
    runs: Sequence[Run], results: Sequence[ProbeResult], subjects: Mapping[str, Subject]
) -> dict[tuple[int, str, str], ProbeSeries]:
    """Return (run id, subject, other) -> its series, with letters in the order of runs and of their records."""
    by_pk = {run.pk: run for run in runs}
    counts: Counter[str] = Counter()
    out: dict[tuple[int, str, str], ProbeSeries] = {}
    for i, key in enumerate(dict.fromkeys(map(_key, results))):
        pk, subject, other = key
        # Without a step it is the base model, which no method trained.
        methods = {subjects[text].method for text in (subject, other) if text and subjects[text].step}
        method = methods.pop() if len(methods) == 1 else ""
        group = Group(method, subjects[subject].title, counts[method], (by_pk[pk],))
        counts[method] += 1
        mark, second = Mark(letter(i), by_pk[pk], group), subjects.get(other)
        if results[0].probe in READS_RESPONSES:
            out[key] = ProbeSeries(mark, subjects[subject], None, second if other != subject else None)
        else:
            out[key] = ProbeSeries(mark, subjects[subject], second)
    return out


def _named(request: SignedIn, uids: Sequence[str], offered: Sequence[str]) -> tuple[list[Run], tuple[str, ...]]:
    """Return the probe runs with these uids in any experiment, and sentences about those that cannot be shown."""
    rows = Run.objects.visible_to(request.user).of_kind(kinds.PROBE).filter(uid__in=uids[: 2 * MAX_RUNS])
    runs = {run.uid: run for run in rows.select_related("experiment")}
    problems = []
    if missing := [uid[:20] for uid in uids if uid not in runs]:
        problems.append(must_be_one_of("run", offered, ", ".join(missing)))
    if not runs:
        raise UnknownChoice(problems[0])
    if len(runs) > MAX_RUNS:
        message = gettext("At most %(most)s probe runs can be shown, not %(n)s: showing the first.")
        problems.append(message % {"most": MAX_RUNS, "n": len(runs)})
    return [runs[uid] for uid in uids if uid in runs][:MAX_RUNS], tuple(problems)


def chart_query(request: HttpRequest, choice: ProbeChoice) -> QueryDict:
    """Return the parameters for charts and files of this choice, without the probe runs that do not exist."""
    query = request.GET.copy()
    if choice.problems:
        query.setlist("run", [run.uid for run in choice.runs])
    return query
