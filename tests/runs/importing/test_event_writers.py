"""Programs that write into one folder of event files at the same time are two runs; a run started again is one."""

from __future__ import annotations

import io
import struct

from runs.importing import File
from runs.importing.detect_format import recognise_sources
from runs.importing.files import window
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.event_file_writer import event, nested, record, scalar, version

T = 1_700_000_000.0
A, B = "events.out.tfevents.1700000000.node1.11.0", "events.out.tfevents.1700000005.node2.22.0"
A_AGAIN, B_AGAIN = "events.out.tfevents.1700000900.node1.33.0", "events.out.tfevents.1700000905.node2.44.0"


def event_file(steps: list[int], at: float, spacing: float = 10.0, tag: str = "a") -> bytes:
    """Return an event file with a point at each step, so many seconds after another."""
    events = (event(step, scalar(tag, float(step)), at=at + spacing * i) for i, step in enumerate(steps))
    return version() + b"".join(events)


def read(files: dict[str, bytes]):
    """Return (name, (epoch, step) of each point) of each source of a folder, and what was reported."""
    paths = [(f"tb/{name}", data) for name, data in files.items()]
    opened = [File(path, path, len(data), window(io.BytesIO(data), 0, len(data))) for path, data in paths]
    report = ImportReport()
    sources, _ = recognise_sources(opened)
    points = [
        (source.name, [(entry.epoch, entry.record.step) for entry in source.entries(report) if entry.record])
        for source in sources
    ]
    return points, [*map(str, report.remarks), *report.facts]


@each_case(
    ("first", "second"),
    [
        (event_file([1, 3, 5], T), event_file([2, 4, 6], T + 5)),
        (event_file([1, 2, 3], T), event_file([1, 2, 3], T + 1)),
        (event_file([1, 3, 5], T, spacing=0), event_file([2, 4, 6], T, spacing=0)),
    ],
    ids=["interleaved steps", "equal steps", "times that tell nothing"],
)
def test_writers_at_the_same_time_are_two_sources(first, second):
    sources, reported = read({A: first, B: second})
    assert [(name, len(points), {epoch for epoch, _ in points}) for name, points in sources] == [
        (f"tb/{A}", 3, {0}), (f"tb/{B}", 3, {0}),
    ]  # fmt: skip
    assert reported == ["several programs wrote into its folder at the same time: each is a run of its own"] * 2


def test_steps_that_alternate_are_of_two_writers_even_if_names_and_times_tell_nothing():
    first, second = event_file([1, 3, 5], T, spacing=0), event_file([2, 4, 6], T, spacing=0)
    assert [name for name, _ in read({"events.a": first, "events.b": second})[0]] == ["tb/events.a", "tb/events.b"]
    resumed = event_file([5, 6], T, spacing=0)
    assert [name for name, _ in read({"events.a": first, "events.b": resumed})[0]] == ["tb/ (2 files)"]


def test_run_that_continues_on_another_host_is_one_source():
    sources, reported = read({A: event_file([1, 2, 3], T), B: event_file([3, 4], T + 500)})
    assert sources == [("tb/ (2 files)", [(0, 1), (0, 2), (0, 3), (1, 3), (1, 4)])]
    assert reported == []


def test_writers_of_one_process_with_different_tags_are_one_source():
    second = A.replace(".11.0", ".11.1")
    sources, _ = read({A: event_file([1, 2], T), second: event_file([1, 2], T + 5, tag="b")})
    assert [name for name, _ in sources] == ["tb/ (2 files)"]


def test_each_of_two_writers_may_be_started_again():
    files = {
        A: event_file([1, 3, 5], T), B: event_file([1, 2, 4], T + 5),
        A_AGAIN: event_file([4, 6], T + 900), B_AGAIN: event_file([3, 6], T + 905),
    }  # fmt: skip
    sources, _ = read(files)
    assert sources == [
        ("tb/node1.11 (2 files)", [(0, 1), (0, 3), (0, 5), (1, 4), (1, 6)]),
        ("tb/node2.22 (2 files)", [(0, 1), (0, 2), (0, 4), (1, 3), (1, 6)]),
    ]


def test_third_run_after_two_is_never_mixed_with_either():
    third = "events.out.tfevents.1700000900.node3.55.0"
    files = {A: event_file([1, 2, 3], T), B: event_file([1, 2, 3], T + 5), third: event_file([1, 2], T + 900)}
    assert [len(points) for _, points in read(files)[0]] == [3, 3, 2]


def without_step(value: float) -> bytes:
    """Return an event whose message has no step: of step 0, or of a point that was logged without one."""
    return record(b"\x09" + struct.pack("<d", T) + nested(5, scalar("a", value)))


def test_points_without_a_step_are_counted_and_named():
    events = [without_step(1.0), without_step(2.0), without_step(3.0), event(7, scalar("b", 1.0))]
    sources, reported = read({A: version() + b"".join(events)})
    assert sources == [(f"tb/{A}", [(0, 7)])]
    assert reported == ["tag a: states no step in 3 points: omitted"]


def test_single_point_without_a_step_is_that_of_step_0():
    sources, reported = read({A: version() + without_step(1.0) + event(1, scalar("a", 2.0))})
    assert (sources, reported) == ([(f"tb/{A}", [(0, 0), (0, 1)])], [])


def test_file_of_points_without_steps_is_reported():
    sources, reported = read({A: version() + without_step(1.0) + without_step(2.0)})
    assert (sources[0][1], len(reported)) == ([], 1)
