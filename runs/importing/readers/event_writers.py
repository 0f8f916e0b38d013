"""Tell apart the programs that write event files into one folder: those that write at the same time are two runs.

A run that is started again writes a further file after its earlier one has ended, perhaps on another host. So hosts and
process ids alone do not separate files; times that overlap do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runs.importing.files import File, natural_key
from runs.importing.readers.event_files import events
from runs.importing.records import ImportReport

FILE_NAME = re.compile(r"events\.out\.tfevents\.\d{1,20}\.(.{1,253}?)\.(\d{1,10})\.\d{1,10}(?:\.v2)?")
MAX_STEPS = 10_000
MIN_ALTERNATIONS = 3
SHORT_FILE_NAME = re.compile(r"events\.out\.tfevents\.\d{1,20}\.(.{1,253})")


@dataclass(frozen=True)
class Outline:
    """The times, the steps and the tags of an event file, and the host and process that its name states."""

    file: File
    times: tuple[float, float]
    """First and last of its points; infinity and minus infinity if there are none."""
    steps: tuple[int, ...]
    """Sorted, the first MAX_STEPS of them."""
    tags: frozenset[str]
    host: str
    process: str

    def is_beside(self, other: Outline) -> bool:
        """Return whether the other file was written at the same time, so that neither continues the other.

        Files whose points all have one and the same time are compared by their names and steps.
        """
        if self.host == other.host and self.process == other.process and self.process and not self.tags & other.tags:
            # One process may have a writer for each part of what it measures.
            return False
        if self.times != other.times or self.times[0] != self.times[1]:
            return self.times[0] < other.times[1] and other.times[0] < self.times[1]
        are_named = bool(self.host and other.host) and (self.host, self.process) != (other.host, other.process)
        return _overlap(self.steps, other.steps) if are_named else _interleave(self.steps, other.steps)

    def resumes(self, other: Outline) -> bool:
        """Return whether this may be the other file's run that was started again: on the same host, not at its
        beginning."""
        return self.host == other.host and self.steps[:1] > other.steps[:1] > ()


def group_by_writer(files: Sequence[File]) -> list[tuple[str, list[File]]]:
    """Return (writer, its files from old to new) for the event files of one folder. A single writer has no name."""
    outlines = list(_outlines(files)) if len(files) > 1 else []
    if not outlines:
        return [("", list(files))]
    groups: list[list[Outline]] = []
    for outline in sorted(outlines, key=_by_time):
        before = [group for group in groups if not any(outline.is_beside(other) for other in group)]
        if len(groups) > 1:
            before = [group for group in before if outline.resumes(group[0])]
        if len(before) == 1:
            before[0].append(outline)
        else:
            groups.append([outline])
    names = [_name(group[0]) if len(groups) > 1 else "" for group in groups]
    return [(name, [outline.file for outline in group]) for name, group in zip(names, groups, strict=True)]


def _outlines(files: Sequence[File]) -> Iterator[Outline]:
    for file in files:
        times, steps, tags = [math.inf, -math.inf], set[int](), set[str]()
        for event in events(file.open, ImportReport()):
            if event.values and math.isfinite(event.wall_time):
                times = [min(times[0], event.wall_time), max(times[1], event.wall_time)]
            if event.values:
                steps |= {event.step} if len(steps) < MAX_STEPS else set()
                tags |= event.values.keys()
        name = file.name.rpartition("/")[2]
        match = FILE_NAME.fullmatch(name) or SHORT_FILE_NAME.fullmatch(name)
        host, process = (match[1], match[2] if match.re is FILE_NAME else "") if match else ("", "")
        yield Outline(file, (times[0], times[1]), tuple(sorted(steps)), frozenset(tags), host, process)


def _overlap(steps: Sequence[int], others: Sequence[int]) -> bool:
    return bool(steps) and bool(others) and steps[0] <= others[-1] and others[0] <= steps[-1]


def _interleave(steps: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether steps alternate and none is in both. A run that is started again repeats some, or goes on."""
    if not _overlap(steps, others) or not set(steps).isdisjoint(others):
        return False
    origins = [origin for _, origin in sorted([(step, 0) for step in steps] + [(step, 1) for step in others])]
    return sum(before != after for before, after in pairwise(origins)) >= MIN_ALTERNATIONS


def _by_time(outline: Outline) -> tuple[float, list[tuple[int, int, str]]]:
    return outline.times[0], natural_key(outline.file.name)


def _name(outline: Outline) -> str:
    """Return the name of a writer: its host and process, or the name of its first file."""
    return f"{outline.host}.{outline.process}" if outline.process else outline.file.name.rpartition("/")[2]
