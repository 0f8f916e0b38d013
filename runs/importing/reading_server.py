"""The server of the processes that read uploaded files, started by `reading_process`.

It loads the readers once, and forks for each import a process that reads and ends. A message on its socket is one
byte and open files: the end of a pipe for the exit status, the exchange, the spool, and the uploads. The exchange holds
the request as JSON; the reading process appends its frames (`stored_sources`). The server ends with its parent, and
takes its reading processes along.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple
from itertools import chain
from typing import IO, Any

from runs.importing.budget import MEMBER_VALUES, RESPONSE_VALUES, Budget, Limits
from runs.importing.detect_format import NO_MEMORY, recognise_sources
from runs.importing.files import MB
from runs.importing.records import Entry, ImportReport
from runs.importing.run_folders.assemble import RunFolder
from runs.importing.run_folders.stored import write_pieces
from runs.importing.scan import read_upload
from runs.importing.sources import Source
from runs.importing.spool import Unpacking
from runs.importing.stored_sources import BEGIN, END, FAILED, SOURCES, FrameWriter, pack_report
from workers.records import Metric, Population, Record

MAX_FILES = 128
NICE = 5
"""Added to the niceness: pages come before imports."""
GRACE_SECONDS = 5
"""Seconds after the import's own limit at which a process that does not check it is killed."""


def serve(descriptor: int) -> None:
    """Serve on this socket until the parent closes its end."""
    control = socket.socket(fileno=descriptor)
    gc.collect()
    gc.freeze()
    # A terminal's Ctrl-C is for the parent, which closes the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve(control)


def _serve(control: socket.socket) -> None:
    wakeup, wake = os.pipe()
    for end in (wakeup, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pipes: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 4096)
            _reap(pipes)
        if control.fileno() in ready:
            data, descriptors, _, _ = socket.recv_fds(control, 1, MAX_FILES)
            if not data:
                break
            _start(control, descriptors, pipes)
    for pid in pipes:
        os.kill(pid, signal.SIGKILL)


def _start(control: socket.socket, descriptors: list[int], pipes: dict[int, int]) -> None:
    """Fork a reading process. `pipes`: its process id -> the end of the pipe for its exit status."""
    status, *files = descriptors
    pid = os.fork()
    if pid:
        pipes[pid] = status
        for descriptor in files:
            os.close(descriptor)
        return
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for pipe in (status, *pipes.values()):
            os.close(pipe)
        exchange, spool, *uploads = (os.fdopen(descriptor, "r+b") for descriptor in files)
        _read(exchange, spool, uploads)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        # A forked process must not run the server's loop, nor its exit handlers.
        os._exit(1)


def _reap(pipes: dict[int, int]) -> None:
    """Report each reading process that has ended: its exit code, negative for a signal, and its CPU-seconds."""
    while pipes:
        pid, status, usage = os.wait3(os.WNOHANG)
        if not pid:
            return
        pipe = pipes.pop(pid)
        result = {"code": os.waitstatus_to_exitcode(status), "cpu_seconds": usage.ru_utime + usage.ru_stime}
        # The parent may have given up.
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe, json.dumps(result).encode())
        os.close(pipe)


def _read(exchange: IO[bytes], spool: IO[bytes], uploads: Sequence[IO[bytes]]) -> None:
    exchange.seek(0)
    request = json.load(exchange)
    _limit(request)
    writer = FrameWriter(exchange)
    try:
        _write_sources(request, spool, uploads, writer)
    except Exception:
        writer.write(FAILED, traceback.format_exc())


def _limit(request: dict[str, Any]) -> None:
    """Limit this process: the kernel kills it beyond its CPU-seconds or its time, and refuses memory and disk."""
    seconds, memory = request["cpu_seconds"], request["memory_mb"] * MB
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.setitimer(signal.ITIMER_REAL, request["limits"]["seconds"] + GRACE_SECONDS)
    os.nice(NICE)


def _write_sources(
    request: dict[str, Any], spool: IO[bytes], uploads: Sequence[IO[bytes]], writer: FrameWriter
) -> None:
    budget = Budget(Limits(**request["limits"]))
    with ExitStack() as stack:
        unpacking = Unpacking(stack, budget, spool)
        files = (
            read_upload(upload, size, name, unpacking)
            for upload, (name, size) in zip(uploads, request["uploads"], strict=True)
        )
        sources, refused = recognise_sources(chain.from_iterable(files))
        spool.flush()
        places = [spool, *uploads]
        described = [_describe(source, places) for source in sources]
        writer.write(SOURCES, (described, [astuple(file) for file in refused]))
        sizes = set(request["sizes"])
        for source in sources:
            if isinstance(source, RunFolder):
                _write_folder(source, budget, writer)
            else:
                _write_source(source, sizes, budget, writer)


def _describe(source: Source | RunFolder, places: Sequence[IO[bytes]]) -> dict[str, Any]:
    """Return a source as plain data. The place of a file is (number of the open file that holds it, offset)."""
    files = []
    for file in source.files:
        if file.origin is None:
            raise TypeError(f"{file.name} is on no disk of this process")
        opened, start = file.origin
        files.append((file.name, file.path, file.size, places.index(opened), start))
    return {"kind": source.kind, "name": source.name, "modified_at": source.modified_at, "files": files}


def _write_source(source: Source, sizes: set[int], budget: Budget, writer: FrameWriter) -> None:
    """Write the frames of one source. `sizes`: those of known imports, to which its own is added."""
    report = ImportReport()
    end: dict[str, Any] = {"error": "", "unstorable": ""}
    writer.write(BEGIN, None)
    try:
        size, sha256, beginnings = source.digests(sizes)
        sizes.add(size)
        end |= {"size": size, "sha256": sha256, "beginnings": [*beginnings.items()]}
        writer.write_entries(_counted(source.entries(report), budget), report)
    except MemoryError:
        end["error"] = NO_MEMORY
    except OSError as error:
        end["error"] = error.strerror or str(error)
    except (OverflowError, RecursionError) as error:
        end["unstorable"] = str(error)
    writer.write(END, end | {"report": pack_report(report)})


def _write_folder(folder: RunFolder, budget: Budget, writer: FrameWriter) -> None:
    """Write the frames of one run folder."""
    report = ImportReport()
    end = {"error": "", "unstorable": ""}
    writer.write(BEGIN, None)
    try:
        write_pieces(writer, folder, budget, report)
    except MemoryError:
        end["error"] = NO_MEMORY
    except OSError as error:
        end["error"] = error.strerror or str(error)
    writer.write(END, end | {"report": pack_report(report)})


def _counted(entries: Iterable[Entry], budget: Budget) -> Iterator[Entry]:
    """Yield the entries, and count their runs and values. Raise OverBudget beyond a limit."""
    part = None
    for entry in entries:
        if entry.run.part != part:
            part = entry.run.part
            budget.add_run()
        if entry.record is not None:
            budget.add_values(_value_count(entry.record))
        yield entry


def _value_count(record: Record) -> int:
    if isinstance(record, Metric):
        return 2 + len(record.values)
    return MEMBER_VALUES * len(record.members) if isinstance(record, Population) else RESPONSE_VALUES
