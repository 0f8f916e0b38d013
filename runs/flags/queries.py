"""Read flags: the open ones of many runs, all of one run with their examples, and the thresholds that apply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Case, IntegerField, Value, When

from runs.flags.peers import KL_DETECTOR
from runs.models import Experiment, Flag, FlagCheck, FlagDismissal, FlagThresholds, Response, Run
from workers.analysis.detectors import DETECTORS, Detector, can_fire, read_thresholds

ORDER = Case(
    *(When(detector=detector.name, then=Value(i)) for i, detector in enumerate(DETECTORS)),
    default=Value(len(DETECTORS)),
    output_field=IntegerField(),
)


@dataclass(frozen=True)
class Pair:
    """A response before training, None if unknown, and the response to the same prompt at the flagged step."""

    before: Response | None
    now: Response


@dataclass(frozen=True)
class FlagView:
    """A flag with its examples and its dismissals, the newest first. `dismissal` applies now; None if the flag is
    open."""

    flag: Flag
    pairs: list[Pair]
    dismissals: list[FlagDismissal]

    @property
    def dismissal(self) -> FlagDismissal | None:
        applying = [d for d in self.dismissals if d.data_hash == self.flag.data_hash and d.undone_at is None]
        return applying[0] if applying else None

    @property
    def is_open(self) -> bool:
        return self.flag.is_current and self.dismissal is None


@dataclass(frozen=True)
class Reach:
    """Detectors that cannot fire at the newest evaluation, whatever its responses are: there is no base, or there are
    too few responses for its number, counted from 1 after the base."""

    responses: int
    has_base: bool
    number: int
    silent: list[Detector]


def open_flags(run_ids: Iterable[int]) -> dict[int, list[Flag]]:
    """Return run id -> its open flags in the order of the detectors, for the runs that have any. One query."""
    flags: dict[int, list[Flag]] = defaultdict(list)
    for flag in Flag.objects.open().filter(run__in=list(run_ids)).order_by("run", ORDER):
        flags[flag.run_id].append(flag)
    return dict(flags)


def flags_of_run(run: Run) -> list[FlagView]:
    """Return all flags of a run, open ones first. Three queries; one if it has none."""
    flags = list(run.flags.order_by(ORDER))
    if not flags:
        return []
    dismissals: dict[int, list[FlagDismissal]] = defaultdict(list)
    rows = FlagDismissal.objects.filter(flag__run=run).select_related("dismissed_by", "undone_by")
    for dismissal in rows.order_by("-dismissed_at", "-pk"):
        dismissals[dismissal.flag_id].append(dismissal)
    keys = {key for flag in flags for pair in flag.examples for key in pair if key is not None}
    responses = Response.objects.select_related("prompt").in_bulk(keys)
    views = [FlagView(flag, _pairs(flag, responses), dismissals[flag.pk]) for flag in flags]
    return sorted(views, key=lambda view: (not view.is_open, not view.flag.is_current))


def _pairs(flag: Flag, responses: dict[int, Response]) -> list[Pair]:
    pairs = [(responses.get(before), responses.get(now)) for before, now in flag.examples]
    return [Pair(before, now) for before, now in pairs if now is not None]


def reach_of(run: Run) -> Reach | None:
    """Return the detectors that cannot fire at the newest judged evaluation; None without any, or without responses.
    Detectors that are off are not among them, nor that of the KL, which other runs may make fire. Two queries."""
    check = FlagCheck.objects.filter(run=run, step__isnull=False, responses__gt=0).first()
    if check is None:
        return None
    thresholds, number = thresholds_of(run.experiment), check.judged[str(check.step)][0]
    able = {detector.name for detector in can_fire(check.responses, check.responses_before, number, thresholds)}
    able |= {KL_DETECTOR, *(name for name, threshold in thresholds.items() if threshold is None)}
    silent = [detector for detector in DETECTORS if detector.name not in able]
    return Reach(check.responses, check.responses_before > 0, number, silent) if silent else None


def thresholds_of(experiment: Experiment | None) -> dict[str, float | None]:
    """Return the threshold of each detector for the runs of an experiment, or of the site if it is None. One query."""
    thresholds: dict[str, float | None] = {detector.name: detector.threshold for detector in DETECTORS}
    rows = FlagThresholds.objects.filter(experiment__isnull=True)
    if experiment is not None:
        rows = rows | FlagThresholds.objects.filter(experiment=experiment)
    for row in sorted(rows, key=lambda row: row.experiment_id is not None):
        thresholds |= read_thresholds(row.values)
    return thresholds
