"""Event files give their scalars, however those are written. A broken record costs itself, a broken length the rest."""

from __future__ import annotations

import io
import struct

import pytest

from runs.importing.readers import event_files, tfrecord
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.event_file_writer import (
    crc32c,
    event,
    masked,
    nested,
    record,
    scalar,
    tensor,
    varint,
    version,
)
from workers.records import Metric


def read(*files: bytes, name: str = "events.out.tfevents.1"):
    """Return (entries, remarks) of event files of one folder."""
    report = ImportReport()
    openers = [lambda data=data: io.BytesIO(data) for data in files]
    return list(event_files.entries(openers, name, report)), [str(remark) for remark in report.remarks]


def points(entries, key):
    return [(e.epoch, e.record.step, e.record.values[key]) for e in entries if e.record and key in e.record.values]


def test_the_checksum_is_that_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283
    crc = crc32c(b"hello")
    assert tfrecord.masked_crc32c(b"hello") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@each_case(
    "fields",
    [
        b"\x08\x01" + nested(2, b"") + nested(4, struct.pack("<f", 0.5)),
        b"\x08\x02" + nested(4, struct.pack("<d", 0.5)),
        b"\x08\x01" + nested(5, struct.pack("<f", 0.5)),
        b"\x08\x01" + varint(5 << 3 | 5) + struct.pack("<f", 0.5),
        b"\x08\x02" + nested(6, struct.pack("<d", 0.5)),
        b"\x08\x13" + nested(13, varint(0x3800)),
        b"\x08\x0e" + nested(13, varint(0x3F00)),
    ],
    ids=["content", "double content", "floats", "one float", "doubles", "half", "bfloat16"],
)
def test_a_scalar_tensor_is_a_scalar_in_every_encoding(fields):
    entries, remarks = read(version() + event(3, tensor("loss", fields)))
    assert (points(entries, "loss"), remarks) == ([(0, 3, 0.5)], [])


@pytest.mark.parametrize("fields", [b"\x08\x09" + nested(10, varint(-7)), b"\x08\x09\x50" + varint(-7)])
def test_whole_numbers_may_be_negative(fields):
    assert points(read(event(1, tensor("n", fields)))[0], "n") == [(0, 1, -7.0)]


def test_simple_values_and_times_are_read():
    entries, _ = read(event(1, scalar("a", 1.5), scalar("b", -2.0), at=100.0) + event(2, scalar("a", 2.5), at=160.0))
    assert points(entries, "a") == [(0, 1, 1.5), (0, 2, 2.5)]
    assert points(entries, "b") == [(0, 1, -2.0)]
    assert [entry.at for entry in entries if entry.record] == [0.0, 60.0]
    assert entries[0].run.started_at == 100.0


@each_case(
    ("factor", "unit"),
    [(1e3, "looks like milliseconds (ms)"), (1e9, "looks like nanoseconds (ns)"), (-1, "is no time"), (1e300, "is no")],
)
def test_points_with_times_in_another_unit_have_none_and_are_reported(factor, unit):
    at = 1_700_000_000.0
    bad = [event(step, scalar("a", 1.0), at=factor * (at + step)) for step in (1, 2)]
    entries, remarks = read(version() + b"".join(bad) + event(3, scalar("a", 1.0), at=at + 30))
    assert points(entries, "a") == [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]
    assert [entry.at for entry in entries if entry.record] == [None, None, 30.0]
    assert (entries[0].run.started_at, entries[0].run.seconds) == (at, 30.0)
    (remark,) = remarks
    assert remark.startswith("step 1, wall_time: ") and remark.endswith("2 records are imported without a time")
    assert unit in remark


def test_event_without_a_time_is_not_of_1970():
    entries, remarks = read(record(b"\x10\x01" + nested(5, scalar("a", 1.0))))
    assert [entry.at for entry in entries if entry.record] == [None]
    assert entries[0].run.started_at is None
    assert remarks == ["step 1, wall_time: nan is no time in Unix seconds: 1 record is imported without a time"]


def test_other_values_than_scalars_are_named_with_their_count():
    picture = nested(1, nested(1, b"samples") + nested(4, b"png"))
    several = tensor("dist", b"\x08\x01" + nested(5, struct.pack("<2f", 1.0, 2.0)))
    entries, remarks = read(event(1, picture, several, scalar("a", 1.0)) + event(2, picture))
    assert points(entries, "a") == [(0, 1, 1.0)]
    assert remarks == [
        "tag samples: contains no scalar: 2 events omitted",
        "tag dist: contains no scalar: 1 event omitted",
    ]


def test_record_with_a_wrong_checksum_is_left_out():
    bad = bytearray(event(2, scalar("a", 2.0)))
    bad[-6] ^= 0xFF
    first = version() + event(1, scalar("a", 1.0))
    entries, remarks = read(first + bytes(bad) + event(3, scalar("a", 3.0)))
    assert points(entries, "a") == [(0, 1, 1.0), (0, 3, 3.0)]
    assert remarks == [f"byte {len(first)}: a record does not match its checksum: omitted"]


@each_case("cut", [1, 5, 11, 20])
def test_a_file_that_ends_amid_a_record_is_read_up_to_there(cut):
    last = event(2, scalar("a", 2.0))
    first = event(1, scalar("a", 1.0))
    entries, remarks = read(first + last[:-cut] if cut != 11 else first + last[:11])
    assert points(entries, "a") == [(0, 1, 1.0)]
    assert remarks == [f"byte {len(first)}: the file ends within a record"]


def test_a_length_that_cannot_be_believed_ends_the_reading():
    first = event(1, scalar("a", 1.0))
    entries, remarks = read(first + b"\xff" * 40 + event(2, scalar("a", 2.0)))
    assert points(entries, "a") == [(0, 1, 1.0)]
    assert remarks == [f"byte {len(first)}: a record's length does not match its checksum: nothing after it"]


def test_a_record_of_a_pretended_size_is_never_held():
    length = struct.pack("<Q", 2**40)
    entries, remarks = read(event(1, scalar("a", 1.0)) + length + masked(length))
    assert "is longer than" in remarks[0]
    assert points(entries, "a") == [(0, 1, 1.0)]


def test_bytes_that_are_no_message_are_named():
    entries, remarks = read(record(b"\xff\xff\xff") + event(1, scalar("a", 1.0)))
    assert remarks == ["byte 0: is not an event: a number does not end"]
    assert points(entries, "a") == [(0, 1, 1.0)]


def test_trl_s_tags_get_our_names():
    tags = (scalar("train/reward", -1.0), scalar("train/kl", 0.5), scalar("eval/reward", -2.0))
    entries, _ = read(event(5, *tags))
    (metric,) = [entry.record for entry in entries if isinstance(entry.record, Metric)]
    assert metric.values == {
        "train/reward/mean": -1.0, "train/reward": -1.0, "train/kl": 0.5, "reward/mean": -2.0, "eval/reward": -2.0,
    }  # fmt: skip
    assert entries[0].run.method == "grpo"


def test_the_published_es_scripts_log_the_population_under_reward():
    entries, _ = read(event(1, scalar("reward/mean", -1.0), scalar("time/iteration", 27.0)))
    assert points(entries, "train/reward/mean") == [(0, 1, -1.0)]
    assert points(entries, "time/step_seconds") == [(0, 1, 27.0)]
    assert entries[0].run.method == "es"


def test_anybody_else_s_tags_stay_as_they_are():
    entries, _ = read(event(1, scalar("reward/mean", -1.0)))
    assert points(entries, "reward/mean") == [(0, 1, -1.0)]
    assert entries[0].run.stored_method == "unknown"


def test_each_file_of_a_folder_is_an_epoch_of_one_run():
    first = event(1, scalar("a", 1.0)) + event(2, scalar("a", 2.0))
    entries, _ = read(first, event(2, scalar("a", 20.0), at=1_700_000_100.0))
    assert points(entries, "a") == [(0, 1, 1.0), (0, 2, 2.0), (1, 2, 20.0)]


def test_invalid_tag_is_reported():
    entries, remarks = read(event(1, scalar("a" * 300, 1.0), scalar("b", 2.0)))
    assert points(entries, "b") == [(0, 1, 2.0)]
    assert remarks == [f"tag {'a' * 100!r}: cannot be the name of a series: 1 omitted"]
