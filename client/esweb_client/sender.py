"""Send one spool to a server: register its start, push its records in order, report changes, and end it.

Every call may be repeated: the server drops records that it has, by their seq.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

from esweb_client.connection import Refusal, Server
from esweb_client.endings import count_lines_after, read_left
from esweb_client.limits import LIMITS, describe_omitted, fit
from esweb_client.lines import encode
from esweb_client.notes import Notes
from esweb_client.notices import warn_once
from esweb_client.pieces import COLUMNS, Piece, build_piece
from esweb_client.reader import PIECE_BYTES, PIECE_LINES, Cursor, Entry, parse, read_entries
from esweb_client.registration import describe_rebuilt, is_rebuilt, read_request, rebuild_request, register
from esweb_client.spool import RECORDS, SENT, STATE, Spool, read_json, write_json

SAVE_SECONDS = 2.0
MAX_MESSAGE = 500


class Sender:
    """A spool, and how much of it a server has stored. `spool` is the open one, if it is this process's own."""

    def __init__(self, folder: Path | None, request: dict[str, Any], spool: Spool | None = None) -> None:
        self.folder, self.request, self.spool = folder, request, spool
        self.attempt = ""
        self.uid = ""
        self.url = ""
        self.is_behind = False
        """Whether the last push left records for the next one, which need not wait."""
        self._server: Server | None = None
        self._cursor = Cursor()
        self._next_seq = 0
        self._max_lines = PIECE_LINES
        self._lines_before = 0
        """Records before this seq are sent as lines, so that the server names those that it refuses."""
        self._replaced: dict[int, dict[str, Any]] = {}
        self._notes = Notes({})
        self._noted: set[str] = set()
        self._server_seq: int | None = None
        """The seq that the server expects, as far as it is known."""
        self._saved_at = 0.0

    @classmethod
    def of_folder(cls, folder: Path, project: str = "", like: Mapping[str, Any] | None = None) -> Sender:
        """Return the sender of a spool whose program has ended, from where it was sent to.

        `project` and `like` are for a start whose `meta.json` is lost. Raise LostIdentity if it cannot be rebuilt.
        """
        request = read_request(folder)
        sender = cls(folder, request or rebuild_request(folder, project, like))
        sent = read_json(folder / SENT)
        sender.attempt, sender.uid, sender.url = (str(sent.get(key, "")) for key in ("attempt", "uid", "url"))
        if isinstance(sent.get("offset"), int) and isinstance(sent.get("seq"), int):
            sender._cursor = Cursor(sent["offset"], sent["seq"])
            sender._next_seq = sent["seq"]
        if sent.get("noted") is not True:
            sender._notes = Notes(read_left(folder))
            if is_rebuilt(folder):
                sender.note(describe_rebuilt(folder, sender.request))
        return sender

    @property
    def is_registered(self) -> bool:
        """Return whether the sender has a token for the attempt."""
        return self._server is not None

    def register(self, server: Server, timeout: float = 30.0) -> None:
        """Register the start, or get another token for it. Raise Refusal or Unreachable."""
        state = read_json(self.folder / STATE) if self.folder else {}
        changed = {key: state[key] for key in ("config", "name", "tags", "note") if state.get(key)}
        body = {**self.request, **changed}
        body["config"] = self._fit("config", body.get("config") or {})
        response, omitted = register(server, body, timeout)
        for sentence in omitted:
            self.note(sentence)
        _warn_of_problems(response)
        try:
            self.attempt, token, self.uid = (str(response[key]) for key in ("attempt", "token", "uid"))
        except KeyError as error:
            raise Refusal(200, response, f"the response to the registration has no {error}", None) from None
        self.url = urljoin(f"{server.url}/", str(response.get("url") or f"runs/{self.uid}/"))
        self.close()
        self._server = Server(server.url, token, keeps_open=True)
        self.save(now=True)

    def note(self, message: str) -> None:
        """Add an alert to the run, once: to its records, or after them if its program has ended."""
        message = message[:MAX_MESSAGE]
        if message in self._noted:
            return
        self._noted.add(message)
        warn_once(f"note {message}", message)
        if self.spool is not None:
            self.spool.append(encode("alert", {"level": "warning", "message": message}))
        else:
            self._notes.add(message)

    def send_piece(self, timeout: float = 30.0) -> bool:
        """Push the next records. Return whether there may be more. Raise Refusal or Unreachable."""
        entries, after = self._read()
        unsent = [entry for entry in entries if entry.seq >= self._next_seq]
        if not unsent:
            has_passed = after != self._cursor
            self._cursor = after
            return has_passed
        read_bytes = after.offset - self._cursor.offset
        piece = build_piece(unsent, self._replaced, columns=unsent[0].seq >= self._lines_before)
        try:
            path = f"attempts/{quote(self.attempt)}/records?epoch=0"
            response = self._connected.post(path, piece.body, piece.content_type, timeout, compress=True)
        except Refusal as refusal:
            self._react(refusal, piece)
            self.is_behind = True
            return True
        is_cut = len(entries) >= self._max_lines or read_bytes > PIECE_BYTES // 2
        self.is_behind = is_cut or len(piece.entries) < len(unsent)
        self._confirm(piece, int(response.get("next_seq", 0)))
        _warn_of_times(response)
        return True

    def heartbeat(self, changes: dict[str, Any], timeout: float = 30.0) -> None:
        """Report that the program lives, and what changed. Raise Refusal or Unreachable."""
        self._post_to_attempt("heartbeat", changes, timeout)

    def end(self, body: dict[str, Any], timeout: float = 30.0) -> None:
        """Report how the start ended. Raise Refusal or Unreachable."""
        body = {**body, "summary": self._fit("summary", body.get("summary") or {})}
        try:
            self._post_to_attempt("end", body, timeout)
        except Refusal as refusal:
            if refusal.status not in (413, 422) or not body["summary"]:
                raise
            self.note(f"The server refused the run's summary: {refusal}")
            while self.send_piece(timeout):
                pass
            self._post_to_attempt("end", {**body, "summary": {}}, timeout)
        self.save(now=True, is_ended=True)

    def count_stored(self) -> int:
        """Return how many of the records that wait in memory the server has. Raise OSError."""
        if self.folder is None:
            # The server's records are removed from the memory.
            return 0
        in_file = self._cursor.seq + count_lines_after(self.folder, self._cursor)
        return max(0, self._next_seq - in_file)

    def close(self) -> None:
        """Close the connection and forget the token: a next use must register again."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def save(self, *, now: bool = False, is_ended: bool = False) -> None:
        """Write how far the spool was sent, every few seconds."""
        if self.folder and (now or time.monotonic() - self._saved_at > SAVE_SECONDS):
            self._saved_at = time.monotonic()
            place = {"offset": self._cursor.offset, "seq": self._cursor.seq}
            run = {"attempt": self.attempt, "uid": self.uid, "url": self.url, "next_seq": self._next_seq}
            is_noted = self.spool is None and self._notes.is_empty
            write_json(self.folder / SENT, {**run, **place, "ended": is_ended, "noted": is_noted})

    @property
    def _connected(self) -> Server:
        if self._server is None:
            raise Refusal(401, {}, "the run is not registered", None)
        return self._server

    def _post_to_attempt(self, action: str, body: dict[str, Any], timeout: float) -> None:
        try:
            _warn_of_problems(self._connected.post_json(f"attempts/{quote(self.attempt)}/{action}", body, timeout))
        except Refusal as refusal:
            self._forget_token(refusal)
            raise

    def _read(self) -> tuple[list[Entry], Cursor]:
        """Return the next records of the file; after its end, those that wait in memory, or the notes."""
        entries, after = self._read_file()
        if self.spool is None and self.folder and not entries and after == self._cursor:
            return self._notes.entries(self.folder, after, self._server_seq), after
        if entries or self.spool is None or not self.spool.waiting:
            return entries, after
        with self.spool.lock:
            # What waited a moment ago may be in the file by now.
            entries, after = self._read_file()
            return (entries, after) if entries else (self._read_waiting(after), after)

    def _read_file(self) -> tuple[list[Entry], Cursor]:
        if self.folder is None:
            return [], self._cursor
        return read_entries(self.folder / RECORDS, self._cursor, self._max_lines)

    def _read_waiting(self, after: Cursor) -> list[Entry]:
        assert self.spool is not None  # noqa: S101 (its only caller has checked)
        skip = max(0, self._next_seq - after.seq)
        lines = self.spool.waiting_lines(skip, self._max_lines)
        bodies = [parse(line) or {"t": 0.0, "kind": "invalid"} for line in lines]
        return [Entry(after.seq + skip + number, -1, body) for number, body in enumerate(bodies)]

    def _confirm(self, piece: Piece, next_seq: int) -> None:
        """Continue after the records of a piece, or later if the server has more."""
        last = piece.entries[-1]
        self._server_seq = next_seq
        if self.spool is None and last.end < 0:
            self._notes.remove_first(len(piece.entries))
        elif last.end >= 0:
            self._cursor = Cursor(last.end, last.seq + 1)
        elif self.folder is None and self.spool is not None:
            self.spool.discard_waiting(len(piece.entries))
            self._cursor = Cursor(0, last.seq + 1)
        self._next_seq = max(last.seq + 1, next_seq)
        self._max_lines = min(PIECE_LINES, 2 * self._max_lines)
        for entry in piece.entries:
            self._replaced.pop(entry.seq, None)
        self.save()

    def _react(self, refusal: Refusal, piece: Piece) -> None:
        """Change what is sent next as the refusal demands. Raise the refusal if only time can help."""
        if refusal.status == 409 and isinstance(refusal.body.get("expected"), int):
            self._continue_at(refusal.body["expected"])
        elif refusal.status == 413:
            self._send_less(piece, refusal)
        elif refusal.status == 422:
            self._handle_problems(piece, refusal)
        else:
            self._forget_token(refusal)
            raise refusal

    def _continue_at(self, seq: int) -> None:
        if seq < self._cursor.seq:
            self._cursor = Cursor()
        self._next_seq = self._server_seq = seq

    def _fit(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return what the server can store of a config or summary. What it cannot is noted on the run."""
        fitting, omitted = fit(values, LIMITS[name])
        if omitted:
            self.note(describe_omitted(name, omitted))
        return fitting

    def _send_less(self, piece: Piece, refusal: Refusal) -> None:
        if len(piece.entries) > 1:
            self._max_lines = max(1, len(piece.entries) // 2)
        else:
            self._replace(piece.entries[0], str(refusal), refusal)

    def _handle_problems(self, piece: Piece, refusal: Refusal) -> None:
        """Send other records in the place of those that the server names."""
        if piece.content_type == COLUMNS:
            self._lines_before = piece.entries[-1].seq + 1
            return
        named = {path: message for path, message in refusal.problems if path.startswith("line ")}
        for path, message in named.items():
            number = path[len("line ") :].split(".")[0]
            if number.isdecimal() and 0 < int(number) <= len(piece.entries):
                self._replace(piece.entries[int(number) - 1], message, refusal)
        if not named:
            self._send_less(piece, refusal)

    def _replace(self, entry: Entry, reason: str, refusal: Refusal) -> None:
        """Send an alert in the place of a record, under its seq. Raise the refusal if the alert is refused too."""
        if entry.seq in self._replaced:
            raise refusal
        message = f"The server refused the {entry.body['kind']} record {entry.seq}: {reason}"[:MAX_MESSAGE]
        warn_once("refused", message)
        alert = {"t": entry.body["t"], "kind": "alert", "level": "warning", "message": message}
        if not isinstance(alert["t"], float):
            alert["t"] = time.time()
        self._replaced[entry.seq] = alert

    def _forget_token(self, refusal: Refusal) -> None:
        """Register again before the next call if the token has expired or the attempt is unknown."""
        if refusal.status in (401, 403, 404):
            self.close()


def _warn_of_times(response: Mapping[str, Any]) -> None:
    """Print, once, that the server stored records whose times it cannot use; an event of the run names them too."""
    problems = response.get("problems")
    if isinstance(problems, list) and problems and isinstance(problems[0], dict):
        warn_once("times of records", f"the server cannot use the times of some records: {problems[0].get('message')}")


def _warn_of_problems(response: Mapping[str, Any]) -> None:
    """Print what the server did not store of a report; an event of the run names it too."""
    for problem in response.get("problems") or ():
        if isinstance(problem, dict):
            message = f"the server stored only a part of the run's {problem.get('path')}: {problem.get('message')}"
            warn_once(message, message)
