"""State in words what the detectors of `workers.analysis.collapse` find in a run's answers, and against which base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Collapse, EvaluatedStep, Run, list_evaluated_steps
from workers.analysis.collapse import DETECTORS, Detector, Example, Finding, Measures, findings

TITLES = {
    "exact": _("Same words as another answer"),
    "near": _("Largest group of nearly equal answers"),
    "clusters": _("Different answers"),
    "opening": _("Most common opening"),
    "sentence": _("Most common sentence"),
    "distinct": _("Different word pairs"),
    "gzip": _("Compression"),
    "self_bleu": _("Self-BLEU"),
    "leak": _("Plays the user too"),
    "empty": _("Empty"),
    "language": _("Another language"),
    "cut": _("Cut off"),
    "refusal": _("Refusals"),
}
HELP = {
    "exact": _("Share of the answers whose words another prompt was answered with too."),
    "near": _("Share of the answers in the largest group that shares most of its three-word runs (MinHash, 0.8)."),
    "clusters": _("Groups of nearly equal answers, as if all were of one size: exp of their entropy, per answer."),
    "opening": _("Share of the answers that begin with the same eight words."),
    "sentence": _("Share of the answers, each to another prompt, that hold the same sentence of five words or more."),
    "distinct": _("Share of different pairs of words, in the same amount of text."),
    "gzip": _("How many times smaller zlib makes the same amount of text."),
    "self_bleu": _("How well 200 answers foretell each other: the mean BLEU-4 of each against the others."),
    "leak": _("Share of the answers with a marker such as USER: in them."),
    "empty": _("Share of the answers that are special tokens and white space alone, as <|endoftext|> is."),
    "language": _(
        "Share of the answers in another language than most of the base model's: by their script, and of Latin "
        "ones by their commonest words."
    ),
    "cut": _("Share of the answers that met the limit of their length, or end within a sentence."),
    "refusal": _("Share of the answers that open as a refusal does, in English."),
}

CANDIDATES = 4
"""Rows that are fetched at once in search of a whole evaluation of the base model: nearly always the first is one."""


@dataclass(frozen=True)
class Base:
    """Hold the measures that a run's answers are compared with, None if there are none. words: which answers those are;
    is_itself: they are the compared answers themselves."""

    words: str
    measures: Measures | None = None
    is_itself: bool = False


@dataclass(frozen=True)
class DetectorRow:
    """One detector, in words. value, base: None where there is none. limit: beyond it, it fires; None where it is not
    judged. is_least: the limit is one from below."""

    name: str
    title: str
    help: str
    value: float | None
    base: float | None
    limit: float | None
    is_least: bool
    fired: bool
    is_alarm: bool
    example: Example | None

    @property
    def state(self) -> str:
        """alarm, changed, quiet or unjudged."""
        if self.fired:
            return "alarm" if self.is_alarm else "changed"
        return "unjudged" if self.limit is None else "quiet"

    @property
    def is_share(self) -> bool:
        """True where it is written in percent."""
        return self.name not in ("gzip", "self_bleu")


def list_evaluations(run: Run, rows: Sequence[Collapse]) -> list[EvaluatedStep]:
    """Return how many answers there are of each measured step, in the order of `rows`, which are of one split."""
    found = list_evaluated_steps([run], rows[0].split).get(run.pk, ()) if rows else ()
    by_step = {one.step: one for one in found}
    return [by_step.get(row.step, EvaluatedStep(row.step, 0, 0)) for row in rows]


def select_whole(rows: Sequence[Collapse], evaluations: Sequence[EvaluatedStep]) -> list[Collapse]:
    """Return the rows whose evaluation is whole; all of them if none is."""
    pairs = zip(rows, evaluations, strict=True)
    return [row for row, evaluation in pairs if not evaluation.is_partial] or list(rows)


def base_of(of: Collapse, run: Run, own: Sequence[Collapse], chosen: Collapse | None = None) -> Base:
    """Return the answers to compare with: those that were chosen; else the base model's, which are the run's own at
    step 0, or another run's of the same experiment, model and task; else the run's first. If there are none, the base
    has no measures. `own`: the run's measured steps whose evaluations are whole, ascending; no partial evaluation is
    taken unless it is chosen."""
    first = own[0] if own else None
    found = chosen or (first if first and first.step == 0 else None) or _of_another(of, run) or first
    if found is None or (found.pk == of.pk and found.step):
        return Base(gettext("nothing: there are no answers of its base model, nor earlier ones"))
    words = _base_words(found, run)
    if chosen is not None and (missing := _missing(chosen)):
        words = gettext("%(base)s (partial, %(answers)s)") % {"base": words, "answers": missing}
    return Base(words, Measures.from_json(found.measures or {}), found.pk == of.pk)


def told(found: Measures, base: Base) -> list[DetectorRow]:
    """Return the row of each detector, in the order of DETECTORS."""
    said = findings(found, base.measures)
    return [_told(detector, said[detector.name], found) for detector in DETECTORS]


def summary(of: Collapse, rows: Sequence[DetectorRow], base: Base) -> str:
    """One sentence: what fired at this step, and against what."""
    alarms = [row.title for row in rows if row.state == "alarm"]
    judged = sum(row.state in ("alarm", "quiet") and row.is_alarm for row in rows)
    said = {"step": of.step, "n": len(alarms), "of": judged, "base": base.words, "which": "; ".join(alarms)}
    if base.is_itself:
        return gettext("Step %(step)s is the base model itself: the later steps are held against it.") % said
    if alarms:
        return gettext("%(n)s of %(of)s detectors fire at step %(step)s, against %(base)s: %(which)s.") % said
    return gettext("Quiet: none of the %(of)s detectors fires at step %(step)s, against %(base)s.") % said


def _of_another(of: Collapse, run: Run) -> Collapse | None:
    config = run.config
    same = {
        f"run__config__{section}__{name}": config[section][name]
        for section, name in (("model", "path"), ("task", "name"))
        if isinstance(config.get(section), dict) and name in config[section]
    }
    if not same:
        return None
    rows = Collapse.objects.filter(run__experiment=run.experiment_id, split=of.split, step=0, measures__isnull=False)
    rows = rows.filter(run__deleted_at__isnull=True, **same).select_related("run").order_by("run_id")
    return next((row for row in rows.iterator(chunk_size=CANDIDATES) if not _missing(row)), None)


def _missing(row: Collapse) -> str:
    """`5 of 32 answers`, if its evaluation lacks some."""
    evaluated = list_evaluated_steps([row.run], row.split).get(row.run_id, ())
    return next((one.words for one in evaluated if one.step == row.step and one.is_partial), "")


def _base_words(found: Collapse, run: Run) -> str:
    if found.run_id != run.pk:
        return gettext("step %(step)s of %(run)s") % {"step": found.step, "run": found.run.name}
    if found.step == 0:
        return gettext("the base model, at step 0")
    return gettext("the first answers of this run, at step %(step)s") % {"step": found.step}


def _told(detector: Detector, finding: Finding, found: Measures) -> DetectorRow:
    name = detector.name
    return DetectorRow(
        name, gettext(TITLES[name]), gettext(HELP[name]), finding.value, finding.base, finding.limit,
        detector.kind == "part", finding.fired, detector.is_alarm, found.examples.get(finding.example or name),
    )  # fmt: skip
