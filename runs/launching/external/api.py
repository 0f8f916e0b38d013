"""API of external runs: heartbeats and ends. `POST /runs` creates them."""

from __future__ import annotations

from runs.http import ApiRequest, Key, Token, get_attempt, router
from runs.launching.external.reports import record_end, record_heartbeat
from runs.launching.external.schemas import End, EndOut, Heartbeat, HeartbeatOut

HEARTBEAT = {"summary": {"best_reward": -3.5}}
END = {"state": "succeeded", "exit_code": 0, "summary": {"best_reward": -3.1}}


@router.post(
    "/attempts/{key}/heartbeat",
    response=HeartbeatOut,
    auth=[Token("ingest")],
    tags=["records"],
    summary="Send a heartbeat",
    exclude_none=True,
    openapi_extra={"requestBody": {"content": {"application/json": {"example": HEARTBEAT}}}},
)
def send_heartbeat(request: ApiRequest, key: Key, news: Heartbeat | None = None) -> HeartbeatOut:
    """Report that the program of an external run is alive, with changes of its config, summary, name, tags and note.
    Needs scope ingest, bound to this run.

    Pushes of records count as heartbeats too. An attempt that was lost runs again if it is its run's newest. The
    response has the attempt's state; an attempt that has ended stays so. It lists `problems` if something exceeds a
    limit: the rest is stored. 409 if the run is not external.
    """
    attempt, problems = record_heartbeat(get_attempt(request.auth, key).key, news or Heartbeat())
    lost_after = attempt.run.external.lost_after_seconds
    return HeartbeatOut.from_row(attempt, lost_after_seconds=lost_after, problems=problems or None)


@router.post(
    "/attempts/{key}/end",
    response=EndOut,
    auth=[Token("ingest")],
    tags=["records"],
    summary="End an external attempt",
    exclude_none=True,
    openapi_extra={"requestBody": {"content": {"application/json": {"example": END}}}},
)
def end_attempt(request: ApiRequest, key: Key, end: End | None = None) -> EndOut:
    """Report the end of the program of an external run: succeeded, failed, cancelled or interrupted. Needs scope
    ingest, bound to this run.

    Safe to repeat: an attempt that has ended keeps its state, which the response names; only a lost one is corrected.
    Records that arrive later are still stored for a day. The response lists `problems` if the summary exceeds its
    limit: the rest is stored. 409 if the run is not external.
    """
    attempt, problems = record_end(get_attempt(request.auth, key).key, end or End())
    return EndOut.from_row(attempt, problems=problems or None)
