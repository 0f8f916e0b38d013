"""Read the other runs of a run's settings: their KL is what the run's may be compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import QuerySet

from runs import metrics
from runs.models import Flag, Run
from workers.analysis.detectors import Evaluation, Peer
from workers.analysis.keys import KL

MAX_PEERS = 200
KL_DETECTOR = "kl_band"


def same_settings(run: Run) -> QuerySet[Run]:
    """Return the other trainings of the experiment with the method, model, task and settings of the run, the newest
    first; they differ in their seeds. None for an evaluation, and for a run of unknown model."""
    trainings = Run.objects.trainings().filter(experiment=run.experiment_id, deleted_at__isnull=True)
    same = trainings.filter(method=run.method, recipe=run.recipe, config__model__has_key="path")
    return same.exclude(pk=run.pk).order_by("-pk")


def checked_peers(run: Run) -> list[int]:
    """Return the newest 200 runs of the same settings that the detectors have seen: their KL may be compared with the
    run's."""
    return list(same_settings(run).filter(flag_check__isnull=False).values_list("pk", flat=True)[:MAX_PEERS])


def read_peers(run: Run, evaluations: Sequence[Evaluation]) -> list[Peer]:
    """Return the newest 200 other runs of the same settings, of each seed the newest; none if no KL is known."""
    if not any(KL in evaluation.values for evaluation in evaluations):
        return []
    # A repetition of one seed is no further run: its KL is the same.
    by_seed = {other.repetition: other for other in reversed(list(same_settings(run)[:MAX_PEERS]))}
    by_seed.pop(run.repetition, None)
    kls = _kl_by_step(by_seed.values())
    open_flags = Flag.objects.open().filter(run__in=by_seed.values()).exclude(detector=KL_DETECTOR)
    flagged = set(open_flags.values_list("run_id", flat=True))
    return [Peer(each.name, kls.get(each.pk, {}), each.pk in flagged) for each in by_seed.values()]


def _kl_by_step(runs: Iterable[Run]) -> Mapping[int, dict[int, float]]:
    by_run: dict[int, dict[int, float]] = defaultdict(dict)
    for curve in metrics.read(list(runs), [KL]):
        points = zip(curve.x, curve.y, curve.overwritten, strict=True)
        by_run[curve.run_id] = {int(x): float(y) for x, y, is_overwritten in points if not is_overwritten}
    return by_run
