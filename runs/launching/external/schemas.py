"""JSON schemas of external runs. Their configs are any JSON: they are stored as the program sent them."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from runs.http import NO_NUL, Input, Int, Name, Note, Output, Pk, RunName, Tags, Word, is_unstorable
from runs.launching.external.limits import MAX_DETAIL_BYTES, json_bytes
from runs.launching.schemas import RunOut
from runs.models.external import LOST_AFTER_SECONDS
from workers.config.methods import METHODS

PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
"""User and password in an address."""


def _plain(value: Any) -> Any:
    """Return the JSON value with the names of numbers that JSON lacks: NaN, Infinity and -Infinity."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _check_object(value: dict[str, Any]) -> dict[str, Any]:
    if is_unstorable(value):
        raise ValueError("must contain no NUL characters and no unpaired surrogates")
    return cast("dict[str, Any]", _plain(value))


def _check_git(value: dict[str, Any]) -> dict[str, Any]:
    remote = value.get("remote")
    git = _check_object({**value, "remote": PASSWORD.sub("", remote)} if isinstance(remote, str) else value)
    if (size := json_bytes(git)) > MAX_DETAIL_BYTES:
        raise ValueError(f"must have at most {MAX_DETAIL_BYTES} bytes as JSON, not {size}")
    return git


def _check_method(method: str) -> str:
    if method in METHODS and not METHODS[method].is_training:
        raise ValueError(f"must name a training, such as es, grpo, ppo or sft, not {method}")
    return method


Object = Annotated[dict[str, Any], AfterValidator(_check_object)]
Git = Annotated[dict[str, Any], AfterValidator(_check_git)]
Method = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,20}$"), AfterValidator(_check_method)]
ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{0,64}$")]
StartId = Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)]
ShortText = Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)]
Command = Annotated[str, StringConstraints(max_length=10_000, pattern=NO_NUL)]
Reason = Annotated[str, StringConstraints(max_length=10_000, pattern=NO_NUL)]
Timestamp = Annotated[float, Field(allow_inf_nan=False, description="Unix seconds")]
LostAfter = Annotated[float, Field(ge=1, le=30 * 86_400, allow_inf_nan=False)]
Group = Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)]


class NewExternalRun(Input):
    """A run that a program trains elsewhere. Give `experiment`, or `project`: an experiment of yours, created if new.

    `id` is the program's own name of the run, by which a later start continues it; `start` names this start.
    """

    kind: Literal["external"]
    project: Name | None = None
    experiment: Pk | None = None
    name: RunName = ""
    method: Method = "unknown"
    seed: Int | None = None
    config: Object = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)
    note: Note = ""
    group: Group = ""
    id: ClientId = ""
    start: StartId = ""
    started_at: Timestamp | None = None
    program: ShortText = ""
    host: ShortText = ""
    command: Command = ""
    git: Git = Field(default_factory=dict)
    lost_after_seconds: LostAfter = LOST_AFTER_SECONDS

    @model_validator(mode="after")
    def _fits(self) -> NewExternalRun:
        if (self.project is None) == (self.experiment is None):
            raise ValueError("give either project (a name) or experiment (its id)")
        return self


class Heartbeat(Input):
    """News of a run that is still training. `config` and `summary` are merged over the former ones, `tags` are added;
    a name or a note replaces the former one. What exceeds a limit is left out, and named in an event."""

    config: Object = Field(default_factory=dict)
    summary: Object = Field(default_factory=dict)
    name: RunName = ""
    tags: Tags = Field(default_factory=list)
    note: Note = ""


class End(Input):
    """The end of a program. `summary` is merged over the former one."""

    state: Literal["succeeded", "failed", "cancelled", "interrupted"] = "succeeded"
    reason: Reason = ""
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    ended_at: Timestamp | None = None
    summary: Object = Field(default_factory=dict)


class ProblemOut(Output):
    """A part of a report that was not stored, unlike the rest: it exceeds a limit, or is a time that is not in Unix
    seconds. An event of the attempt names it."""

    path: str
    message: str


class ExternalRunOut(RunOut):
    """An external run, the key of the attempt that this start is, and a token to write its records.

    The token has scope ingest, is bound to the run, and is shown only here.
    """

    problems: list[ProblemOut] = Field(default_factory=list)

    attempt: str
    token: str
    token_expires_at: datetime


class HeartbeatOut(Output):
    """The state of the attempt, and the silence in seconds after which it counts as lost."""

    state: str
    lost_after_seconds: float
    problems: list[ProblemOut] | None = None


class EndOut(Output):
    """The state of the attempt: the reported one, or the one in which it had ended before."""

    state: Word
    problems: list[ProblemOut] | None = None
