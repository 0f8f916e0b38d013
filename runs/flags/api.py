"""API of flags: read the flags of a run, dismiss them, and change the thresholds of the detectors."""

from __future__ import annotations

from django.http import Http404
from ninja import P, PathEx
from ninja.errors import HttpError

from runs import access
from runs.flags.commands import CannotChangeThresholds, CannotDismiss, dismiss, set_thresholds, undo_dismissal
from runs.flags.queries import flags_of_run, reach_of, thresholds_of
from runs.flags.schemas import FlagDetail, FlagsOut, NewDismissal, NewThresholds, ThresholdsOut
from runs.http import (
    ApiRequest,
    Invalid,
    RowId,
    Uid,
    check_owner,
    get_experiment,
    get_run,
    needs,
    router,
    unknown_choice,
)
from runs.models import Experiment, Flag, FlagThresholds, Run
from workers.analysis.detectors import DETECTORS_BY_NAME
from workers.config import Problem

DetectorName = PathEx[str, P(max_length=30, example="empty")]
DISMISSAL = {"reason": "The empty responses answer prompts that ask for silence."}
THRESHOLDS = {"thresholds": {"empty": 0.2, "length": None}}


@router.get("/runs/{uid}/flags", response=FlagsOut, auth=needs("read"), tags=["flags"], summary="List a run's flags")
def list_flags(request: ApiRequest, uid: Uid) -> FlagsOut:
    """List all flags of a run, open ones first, with their dismissals and up to three examples. Flags that no longer
    fired at the newest evaluation are included, with `is_current` false."""
    run = get_run(request.auth, uid)
    reach = reach_of(run)
    cannot_fire = [detector.name for detector in reach.silent] if reach else []
    return FlagsOut(items=[FlagDetail.from_view(view) for view in flags_of_run(run)], cannot_fire=cannot_fire)


@router.post(
    "/runs/{uid}/flags/{detector}/dismiss",
    response=FlagDetail,
    auth=needs("launch"),
    tags=["flags"],
    summary="Dismiss a flag",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": DISMISSAL}}}},
)
def dismiss_flag(request: ApiRequest, uid: Uid, detector: DetectorName, new: NewDismissal) -> FlagDetail:
    """Dismiss a flag for the data on which it fired, with the reason why it is no cheating. The flag opens again when
    it fires on other data. Safe to repeat; another reason replaces the first. Needs scope launch, and that you created
    the run or own its experiment."""
    run = _get_own_run(request, uid)
    try:
        dismiss(_get_flag(run, detector), request.auth.person, new.reason)
    except CannotDismiss as error:
        raise Invalid(Problem("reason", str(error))) from error
    return _flag_detail(run, detector)


@router.post(
    "/runs/{uid}/flags/{detector}/undo",
    response=FlagDetail,
    auth=needs("launch"),
    tags=["flags"],
    summary="Undo a dismissal",
)
def undo_flag_dismissal(request: ApiRequest, uid: Uid, detector: DetectorName) -> FlagDetail:
    """Open a dismissed flag again. The dismissal remains in the history. Safe to repeat. Needs scope launch, and that
    you created the run or own its experiment."""
    run = _get_own_run(request, uid)
    undo_dismissal(_get_flag(run, detector), request.auth.person)
    return _flag_detail(run, detector)


@router.get(
    "/flag-thresholds",
    response=ThresholdsOut,
    auth=needs("read"),
    tags=["flags"],
    summary="Read the site's flag thresholds",
)
def read_site_thresholds(request: ApiRequest) -> ThresholdsOut:
    """Return the thresholds of the site, and what each detector detects."""
    return _thresholds_out(None)


@router.put(
    "/flag-thresholds",
    response=ThresholdsOut,
    auth=needs("admin"),
    tags=["flags"],
    summary="Set the site's flag thresholds",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": THRESHOLDS}}}},
)
def set_site_thresholds(request: ApiRequest, new: NewThresholds) -> ThresholdsOut:
    """Replace the thresholds of the site, and check all runs again. Needs scope admin, and to be an admin."""
    if not access.may_manage_users(request.auth.person):
        raise HttpError(403, "Only admins may set the thresholds of the site")
    return _set(request, None, new)


@router.get(
    "/experiments/{pk}/flag-thresholds",
    response=ThresholdsOut,
    auth=needs("read"),
    tags=["flags"],
    summary="Read an experiment's flag thresholds",
)
def read_experiment_thresholds(request: ApiRequest, pk: RowId) -> ThresholdsOut:
    """Return the thresholds of an experiment. Those that were not set for it are the site's."""
    return _thresholds_out(get_experiment(request.auth, pk))


@router.put(
    "/experiments/{pk}/flag-thresholds",
    response=ThresholdsOut,
    auth=needs("launch"),
    tags=["flags"],
    summary="Set an experiment's flag thresholds",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": THRESHOLDS}}}},
)
def set_experiment_thresholds(request: ApiRequest, pk: RowId, new: NewThresholds) -> ThresholdsOut:
    """Replace the thresholds of an experiment, and check its runs again. Needs scope launch, and that the experiment is
    yours."""
    experiment = get_experiment(request.auth, pk)
    check_owner(request.auth, experiment)
    return _set(request, experiment, new)


def _get_own_run(request: ApiRequest, uid: str) -> Run:
    run = get_run(request.auth, uid)
    if not access.may_change_run(request.auth.person, run):
        raise HttpError(403, "Only the creator of a run and the owner of its experiment may dismiss its flags")
    return run


def _get_flag(run: Run, detector: str) -> Flag:
    """Return the run's flag. Raise Invalid for an unknown detector, Http404 if the detector did not fire."""
    if detector not in DETECTORS_BY_NAME:
        raise unknown_choice("detector", list(DETECTORS_BY_NAME), detector)
    flags = {flag.detector: flag for flag in run.flags.all()}
    if detector not in flags:
        names = ", ".join(name for name in DETECTORS_BY_NAME if name in flags)
        others = f"its flags are {names}" if names else "it has no flags"
        raise Http404(f"Run {run.uid} has no flag {detector}; {others}")
    return flags[detector]


def _flag_detail(run: Run, detector: str) -> FlagDetail:
    (view,) = (view for view in flags_of_run(run) if view.flag.detector == detector)
    return FlagDetail.from_view(view)


def _set(request: ApiRequest, experiment: Experiment | None, new: NewThresholds) -> ThresholdsOut:
    try:
        set_thresholds(experiment, new.thresholds, request.auth.person)
    except CannotChangeThresholds as error:
        raise Invalid(Problem("thresholds", str(error))) from error
    return _thresholds_out(experiment)


def _thresholds_out(experiment: Experiment | None) -> ThresholdsOut:
    row = FlagThresholds.objects.filter(experiment=experiment).select_related("changed_by").first()
    return ThresholdsOut.from_thresholds(row, thresholds_of(experiment))
