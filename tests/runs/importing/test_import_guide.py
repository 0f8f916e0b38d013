"""The guide import.md has a section for each kind of file: a sample that is read as that kind, and its refusals."""

from __future__ import annotations

import base64
import io

from runs.importing import File
from runs.importing.detect_format import recognise_sources
from runs.importing.files import window
from runs.importing.readers.log import LOG_KINDS
from runs.importing.records import ImportReport
from runs.importing.source_kinds import ORDER, READ_KINDS, TEXT
from runs.importing.steps import STEP_NAMES
from runs.models import RUN_FOLDER
from tests.cases import each_case
from tests.guides.blocks import FENCE, ROOT
from tests.guides.tables import compare_with_guide

GUIDE = ROOT / "docs/guides/import.md"
MAX_SAMPLE_LINES = 5


def section(kind: str) -> str:
    """Return the text of the section of a kind; an empty one if there is none."""
    return GUIDE.read_text(encoding="utf-8").partition(f"\n### {kind}\n")[2].partition("\n#")[0]


def content(sample: str, kind: str) -> bytes:
    return base64.b64decode(sample) if kind == "TensorBoard events" else sample.encode()


def test_kinds_are_those_of_every_source() -> None:
    assert {*READ_KINDS} == {*LOG_KINDS, *ORDER} - {TEXT}


@each_case("kind", [kind for kind in READ_KINDS if kind != RUN_FOLDER])
def test_sample_of_the_guide_is_read_as_its_kind(kind: str) -> None:
    samples = [match[3] for match in FENCE.finditer(section(kind))]
    assert samples and "Refused: " in section(kind)
    for sample in samples:
        data, report = content(sample, kind), ImportReport()
        assert 1 <= len(sample.splitlines()) <= MAX_SAMPLE_LINES
        sources, refused = recognise_sources(
            [File("sample", "sample", len(data), window(io.BytesIO(data), 0, len(data)))]
        )
        entries = [entry for source in sources for entry in source.entries(report)]
        assert refused == [] and {entry.run.kind for entry in entries} == {kind}
        assert kind == LOG_KINDS[-1] or any(entry.record is not None for entry in entries)
        assert not report.has_problems, [*map(str, report.remarks), *map(str, report.refused_cells)]


def test_record_of_the_guide_makes_a_run_folder() -> None:
    (sample,) = (match[3] for match in FENCE.finditer(section(RUN_FOLDER)))
    data, name, report = sample.encode(), "es-seed1/records.0.jsonl", ImportReport()
    sources, refused = recognise_sources([File(name, name, len(data), window(io.BytesIO(data), 0, len(data)))])
    assert refused == [] and [source.kind for source in sources] == [RUN_FOLDER]
    (piece,) = sources[0].pieces(report)
    assert [body["kind"] for body in piece.bodies] == ["metric"] * 2 and "Refused: " in section(RUN_FOLDER)


def test_guide_lists_the_names_that_are_read_as_a_step() -> None:
    compare_with_guide(GUIDE, "step names", ", ".join(f"`{name}`" for name in STEP_NAMES))
