"""Findings of the detectors of `workers.analysis.collapse` in a run's responses, as text, with their base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import number, share
from runs.models import Collapse, EvaluatedStep, Run, list_evaluated_steps
from workers.analysis.collapse import DETECTORS, Detector, Example, Finding, Measures, findings

TITLES = {
    "exact": _("Same words as another response"),
    "near": _("Largest group of nearly equal responses"),
    "clusters": _("Different responses"),
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
    "exact": _("Share of responses with the same words as the response to another prompt."),
    "near": _("Share of responses in the largest group with mostly the same three-word sequences (MinHash, 0.8)."),
    "clusters": _("Effective number of groups of nearly equal responses, exp of their entropy, per response."),
    "opening": _("Share of responses that begin with the same eight words."),
    "sentence": _("Share of responses to different prompts that contain the same sentence of at least five words."),
    "distinct": _("Share of different pairs of words, in the same amount of text."),
    "gzip": _("Factor by which zlib compresses the same amount of text."),
    "self_bleu": _("How well 200 responses predict each other: the mean BLEU-4 of each against the others."),
    "leak": _("Share of responses that contain a marker such as USER:."),
    "empty": _("Share of responses with only special tokens, such as <|endoftext|>, and white space."),
    "language": _(
        "Share of the answers in another language than most of the base model's: by their script, and of Latin "
        "ones by their commonest words."
    ),
    "cut": _("Share of responses that reached the length limit or end within a sentence."),
    "refusal": _("Share of responses that begin like an English refusal."),
}

BASE_BATCH_SIZE = 4
"""Rows fetched together in search of a whole evaluation of the base model: nearly always the first is whole."""


@dataclass(frozen=True)
class Base:
    """Base of a comparison: its measures, None if there are none. label: description of the base's responses.
    is_itself: the base is the compared responses themselves."""

    label: str
    measures: Measures | None = None
    is_itself: bool = False


@dataclass(frozen=True)
class DetectorRow:
    """Result of a detector, with texts. value, base: None if missing. limit: the detector fires beyond it; None if
    not judged. is_least: the limit is a lower limit."""

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
        """Return alarm, changed, quiet or unjudged."""
        if self.fired:
            return "alarm" if self.is_alarm else "changed"
        return "unjudged" if self.limit is None else "quiet"

    @property
    def is_share(self) -> bool:
        """Return whether the value is written in percent."""
        return self.name not in ("gzip", "self_bleu")

    @property
    def value_text(self) -> str:
        return self._format(self.value)

    @property
    def base_text(self) -> str:
        return self._format(self.base)

    @property
    def limit_text(self) -> str:
        return self._format(self.limit)

    def _format(self, value: float | None) -> str:
        return share(value) if self.is_share else number(value)


def list_evaluations(run: Run, rows: Sequence[Collapse]) -> list[EvaluatedStep]:
    """Return the number of responses of each measured step, in the order of `rows`, which are of one split."""
    evaluated_steps = list_evaluated_steps([run], rows[0].split).get(run.pk, ()) if rows else ()
    by_step = {evaluated.step: evaluated for evaluated in evaluated_steps}
    return [by_step.get(row.step, EvaluatedStep(row.step, 0, 0)) for row in rows]


def select_whole(rows: Sequence[Collapse], evaluations: Sequence[EvaluatedStep]) -> list[Collapse]:
    """Return the rows whose evaluation is whole; all of them if none is."""
    pairs = zip(rows, evaluations, strict=True)
    return [row for row, evaluation in pairs if not evaluation.is_partial] or list(rows)


def base_of(row: Collapse, run: Run, own: Sequence[Collapse], selected: Collapse | None = None) -> Base:
    """Return the responses to compare with: the selected ones; else the base model's, which are the run's at step 0,
    or another run's of the same experiment, model and task; else the run's first. If there are none, the base has no
    measures. `own`: the run's measured steps whose evaluations are whole, ascending. A partial evaluation is used only
    if it is selected."""
    first = own[0] if own else None
    base_row = selected or (first if first and first.step == 0 else None) or _of_another(row, run) or first
    if base_row is None or (base_row.pk == row.pk and base_row.step):
        return Base(gettext("nothing, because neither the base model nor an earlier step has responses"))
    label = _base_words(base_row, run)
    if selected is not None and (missing := _missing(selected)):
        label = gettext("%(base)s (partial, %(answers)s)") % {"base": label, "answers": missing}
    return Base(label, Measures.from_json(base_row.measures or {}), base_row.pk == row.pk)


def detector_rows(measures: Measures, base: Base) -> list[DetectorRow]:
    """Return the row of each detector, in the order of DETECTORS."""
    findings_by_name = findings(measures, base.measures)
    return [_detector_row(detector, findings_by_name[detector.name], measures) for detector in DETECTORS]


def summary(current: Collapse, rows: Sequence[DetectorRow], base: Base) -> str:
    """Return a sentence with the detectors that fired at this step, and the base."""
    alarms = [row.title for row in rows if row.state == "alarm"]
    judged = sum(row.state in ("alarm", "quiet") and row.is_alarm for row in rows)
    params = {"step": current.step, "n": len(alarms), "of": judged, "base": base.label, "which": "; ".join(alarms)}
    if base.is_itself:
        return gettext("Step %(step)s is the base model itself. The later steps are compared with it.") % params
    if alarms:
        return gettext("%(n)s of %(of)s detectors fire at step %(step)s, compared with %(base)s: %(which)s.") % params
    return gettext("None of the %(of)s detectors fires at step %(step)s, compared with %(base)s.") % params


def _of_another(current: Collapse, run: Run) -> Collapse | None:
    same = run.same_question("run__")
    if not same:
        return None
    rows = Collapse.objects.filter(
        run__experiment=run.experiment_id, split=current.split, step=0, measures__isnull=False
    )
    rows = rows.filter(run__deleted_at__isnull=True, **same).select_related("run").order_by("run_id")
    return next((row for row in rows.iterator(chunk_size=BASE_BATCH_SIZE) if not _missing(row)), None)


def _missing(row: Collapse) -> str:
    """Return text such as `5 of 32 responses` if the evaluation is partial, else ""."""
    evaluated = list_evaluated_steps([row.run], row.split).get(row.run_id, ())
    return next((step.words for step in evaluated if step.step == row.step and step.is_partial), "")


def _base_words(base_row: Collapse, run: Run) -> str:
    if base_row.run_id != run.pk:
        return gettext("step %(step)s of %(run)s") % {"step": base_row.step, "run": base_row.run.name}
    if base_row.step == 0:
        return gettext("the base model, at step 0")
    return gettext("the first responses of this run, at step %(step)s") % {"step": base_row.step}


def _detector_row(detector: Detector, finding: Finding, measures: Measures) -> DetectorRow:
    name = detector.name
    return DetectorRow(
        name, gettext(TITLES[name]), gettext(HELP[name]), finding.value, finding.base, finding.limit,
        detector.kind == "part", finding.fired, detector.is_alarm, measures.examples.get(finding.example or name),
    )  # fmt: skip
