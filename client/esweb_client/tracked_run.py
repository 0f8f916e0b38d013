"""A run that this program reports: each call returns at once, and no call raises an error."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from esweb_client.checkpoints import checkpoint_path
from esweb_client.errors import describe_error, end_of, never_raise
from esweb_client.gaps import count_lost, count_records
from esweb_client.lines import encode, metric_lines
from esweb_client.notices import say, warn_once
from esweb_client.pusher import Pusher
from esweb_client.recorder import Recorder
from esweb_client.responses import SampleNumbers, population_members, response_fields
from esweb_client.settings import MAX_NAME, Settings, clean_tags
from esweb_client.spool import END, STATE, Spool
from esweb_client.state import Section, State
from esweb_client.values import BadValue, clean_text, encode_float, to_float, to_int, to_json

LEVELS = ("info", "warning", "error")
STATES = ("succeeded", "failed", "cancelled", "interrupted")
MAX_PHASE = 40
MAX_MESSAGE = 9_000


class Run:
    """One start of a run. `id` is the program's own name of the run, by which a later start continues it."""

    def __init__(self, settings: Settings, state: State, spool: Spool | None) -> None:
        self.id = settings.id
        self.mode = settings.mode if spool is not None else "disabled"
        self.config = Section(state, "config", saves=True)
        self.summary = Section(state, "summary", saves=False)
        self.pusher: Pusher | None = None
        self.recorder: Recorder | None = None
        self._settings, self._state, self._spool = settings, state, spool
        self._pid = os.getpid()
        self._step = -1
        self._numbers = SampleNumbers()
        self._is_finished = False
        state.announce = self.name_omitted

    def log(
        self,
        values: Mapping[str, Any],
        step: int | None = None,
        axes: Mapping[str, Any] | None = None,
    ) -> None:
        """Record numbers at a step: by default the one after the last. Nested mappings are joined by "/".

        Steps may come in any order. `axes` are how far the run has come: tokens, samples, gpu_seconds.
        """
        spool = self._spool
        if spool is None:
            return
        try:
            if step is None:
                step = self._step + 1
            elif type(step) is not int or not -(2**63) <= step < 2**63:
                step = to_int(step)
            for line in metric_lines(step, values, axes):
                spool.append(line)
            self._step = step
        except BadValue as error:
            warn_once("step", f"a record is dropped: its step {error}")
        except Exception as error:
            warn_once("log", f"a record is dropped: {describe_error(error)}")

    @never_raise
    def log_responses(
        self,
        responses: Sequence[str],
        *,
        step: int,
        prompts: Sequence[str] | None = None,
        rewards: Sequence[Any] | None = None,
        split: str = "train",
        prompt_ids: Sequence[str] | None = None,
        samples: Sequence[int] | None = None,
        tokens: Sequence[int] | None = None,
        targets: Sequence[str | None] | None = None,
        parts: Sequence[Mapping[str, Any] | None] | None = None,
        kl: Sequence[Any] | None = None,
        categories: Sequence[Sequence[str] | None] | None = None,
    ) -> None:
        """Record the responses of a model. All sequences have one entry for each response.

        Without `prompt_ids`, the id of a prompt is a digest of its text, or of the response if there is no prompt.
        Without `samples`, the responses to one prompt at one step are numbered from 0.
        """
        columns = {
            "prompts": prompts, "rewards": rewards, "prompt_ids": prompt_ids, "samples": samples, "tokens": tokens,
            "targets": targets, "parts": parts, "kl": kl, "categories": categories,
        }  # fmt: skip
        for fields in response_fields(responses, to_int(step), str(split), self._numbers, columns):
            self._append("response", fields)

    @never_raise
    def log_population(self, members: Iterable[Any], *, step: int) -> None:
        """Record the members of one iteration of evolution strategies: (seed, reward), or mappings with seed, reward,
        and if known parts and z, the weight in the update."""
        if fields := population_members(members):
            self._append("population", {"step": to_int(step), "members": fields})

    @never_raise
    def log_checkpoint(self, path: str | os.PathLike[str], *, step: int) -> None:
        """Record that a folder or file has the weights after a step. Its fingerprint is computed in the background."""
        checkpoint_path(path)
        number = to_int(step)
        if self._is_owner and self.recorder:
            self.recorder.add_checkpoint(path, number)
        elif self._spool is not None:
            warn_once("child", "a checkpoint is dropped: only the process that started the run can record it")

    @never_raise
    def log_status(self, phase: str, message: str = "", progress: float | None = None) -> None:
        """Record the present work: a phase such as training, a sentence, and the share that is done."""
        fields: dict[str, Any] = {"phase": clean_text(phase, MAX_PHASE), "message": clean_text(message, MAX_MESSAGE)}
        if progress is not None:
            fields["progress"] = encode_float(to_float(progress))
        self._append("status", fields)

    @never_raise
    def alert(self, title: str, text: str = "", level: str = "info", step: int | None = None) -> None:
        """Record an event that a user should know. `level` is info, warning or error."""
        if level not in LEVELS:
            warn_once("level", f"level must be one of {', '.join(LEVELS)}, not {level!r}; warning is used")
            level = "warning"
        message = f"{title}: {text}" if text else str(title)
        fields: dict[str, Any] = {"level": level, "message": clean_text(message, MAX_MESSAGE)}
        if step is not None:
            fields["step"] = to_int(step)
        self._append("alert", fields)

    @never_raise
    def finish(self, exit_code: int = 0, state: str | None = None, reason: str = "", timeout: float = 30.0) -> None:
        """End the run, and send the rest for `timeout` seconds at most. Only the first call has an effect.

        `state` is succeeded, failed, cancelled or interrupted; without it, the exit code decides.
        """
        if self._is_finished or not self._is_owner:
            return
        self._is_finished = True
        deadline = time.monotonic() + max(0.0, float(timeout))
        if state not in (None, *STATES):
            warn_once("state", f"state must be one of {', '.join(STATES)}, not {state!r}; the exit code decides")
            state = None
        self._log_summary()
        end = {
            "state": state or ("succeeded" if exit_code == 0 else "failed"),
            "reason": clean_text(reason, MAX_MESSAGE),
            "exit_code": min(max(int(exit_code), -(2**31)), 2**31 - 1),
            "ended_at": time.time(),
            "summary": self._state.fitting("summary"),
        }
        # First of all: an impatient user may interrupt what follows.
        self._store_end(end)
        if self.recorder and not self.recorder.finish(deadline - time.monotonic()):
            warn_once("recorder", "the run ended before everything in the background was recorded")
        self._send_end(end, deadline)

    @property
    def step(self) -> int:
        """The step of the last metrics; 0 before the first."""
        return max(self._step, 0)

    @property
    def url(self) -> str | None:
        """The address of the run's page; None until the server has registered the run."""
        return self.pusher.sender.url or None if self.pusher else None

    @property
    def uid(self) -> str | None:
        """The server's name of the run; None until it is registered."""
        return self.pusher.sender.uid or None if self.pusher else None

    @property
    def name(self) -> str:
        """The name of the run, which may be changed."""
        return str(self._state.values.get("name", ""))

    @name.setter
    @never_raise
    def name(self, name: str) -> None:
        self._set("name", clean_text(name, MAX_NAME))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the run, which may be changed."""
        return tuple(self._state.values.get("tags", ()))

    @tags.setter
    @never_raise
    def tags(self, tags: Iterable[str]) -> None:
        self._set("tags", list(clean_tags(tags)))

    @property
    def note(self) -> str:
        """The note of the run, which may be changed."""
        return str(self._state.values.get("note", ""))

    @note.setter
    @never_raise
    def note(self, note: str) -> None:
        self._set("note", clean_text(note, MAX_MESSAGE))

    @property
    def folder(self) -> str | None:
        """The folder of the spool; None if nothing is stored on a disk."""
        return str(self._spool.folder) if self._spool and self._spool.folder else None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.finish(**end_of(error))

    def name_omitted(self) -> None:
        """Record and print which entries of the config or summary are too large to be sent."""
        for message in self._state.take_omitted():
            say(message)
            self._append("alert", {"level": "warning", "message": message})

    def adopt_in_child(self) -> None:
        """Prepare for use in a forked process: it appends to the same spool, and the parent sends and ends the run."""
        self._state.renew_locks()
        self._state.save = lambda: None
        if self._spool:
            self._spool.adopt_in_child()

    def announce_fork(self) -> None:
        """Prepare for a fork: from now on, records are sent in the order that the file has them."""
        if self._spool:
            self._spool.is_shared = True

    @property
    def _is_owner(self) -> bool:
        """Return whether this process started the run, and so ends it."""
        return self._spool is not None and os.getpid() == self._pid

    def _append(self, kind: str, fields: Mapping[str, Any]) -> None:
        if self._spool is not None:
            self._spool.append(encode(kind, fields))

    def _set(self, name: str, value: Any) -> None:
        self._state.set(name, to_json(value))
        self._state.save()

    def _log_summary(self) -> None:
        """Record the numbers of the summary as metrics, by which tables of runs can be sorted."""
        numbers = {
            f"summary/{key}": value
            for key, value in self.summary.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        if numbers:
            self.log(numbers, step=self.step)

    def _store_end(self, end: dict[str, Any]) -> None:
        if self._spool is not None:
            self._spool.drain(now=True)
            self._spool.write_json(STATE, self._state.copy())
            self._spool.write_json(END, end)

    def _send_end(self, end: dict[str, Any], deadline: float) -> None:
        spool, pusher = self._spool, self.pusher
        assert spool is not None  # noqa: S101 (only an owner ends a run)
        began = time.monotonic()
        spool.settle()
        is_sent = pusher is not None and pusher.finish(end, deadline - began)
        if is_sent:
            spool.discard_waiting(len(spool.waiting))
        spool.close()
        lost = count_lost(spool.left, pusher.sender.count_stored() if pusher else 0)
        if lost and not is_sent:
            say(f"{count_records(lost, None)} are lost: neither the disk nor the server took them.")
        if not is_sent:
            say(self._describe_delay(time.monotonic() - began))

    def _describe_delay(self, seconds: float) -> str:
        """Return why the server does not have all of the run, and what sends it."""
        folder = self._spool.folder if self._spool else None
        command = f"; `esweb sync {folder.parent.parent}` sends it." if folder else ", and no disk has it."
        if self.pusher is None:
            return f"The run is stored in {folder}{command}" if folder else "The run is not stored: no disk has it."
        tries = f" after {self.pusher.failures} tries in {seconds:.0f} s" if self.pusher.failures else ""
        why = f" ({self.pusher.problem})" if self.pusher.problem else ""
        place = f". It is in {folder}" if folder else ""
        return f"The server has not received everything yet{tries}{why}{place}{command}"
