"""A file or cell that is not read is named with its reason and the names that would do, by command, page and API."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from runs.importing.records import MAX_REFUSED_CELLS, ImportReport
from runs.importing.refusals import explain_document, explain_text
from runs.importing.source_kinds import KINDS, READ_KINDS
from runs.importing.steps import STEP_NAMES
from runs.models import AttemptEvent, Run
from tests.cases import each_case
from tests.runs.api_client import calls

pytestmark = pytest.mark.usefixtures("runs_dir")
TABLE = "epoch,loss\n1,0.5\n2,0.25\n"
VERL = "".join(f"step:{step} - a:1 - b:x{step}\n" for step in range(25))


@each_case(
    "text, what, words",
    [
        (TABLE, "step columns", "is a table without a column of steps. Its columns: epoch, loss. Read as a step: "),
        ("epoch;loss\n1;0,5\n", "step columns", "Its columns: epoch, loss."),
        ("step,loss\nnone,2\n", "step columns", "is a table whose column step begins with no whole number"),
        ("step,step\n1,2\n", "", "is a table with several columns of the name step: rename them"),
        ('{"epoch": 1, "loss": 2}\n{"epoch": 2, "loss": 1}\n', "step keys",
         "has JSON lines without a step. Their keys: epoch, loss."),
        ("step,note\n1,abc\n", "", "is a table of steps without a number besides. Its columns: step, note"),
        ('{"step": 1, "note": "x"}\n', "", "has JSON lines with a step and no number besides. Their keys: step, note"),
        ("In the end, we believe\nand so on\n", "kinds", "contains nothing of a supported kind (ES and TRL logs, "),
        ("", "kinds", "contains nothing of a supported kind"),
    ],
)  # fmt: skip
def test_refused_text_says_which_names_would_do(text: str, what: str, words: str) -> None:
    refusal = explain_text(text.encode(), READ_KINDS, KINDS)
    names = {"step columns": STEP_NAMES, "step keys": STEP_NAMES, "kinds": READ_KINDS, "": ()}[what]
    assert words in refusal.reason and (refusal.expected_what, refusal.expected) == (what, names)
    assert what in ("", "kinds") or all(name in refusal.reason for name in STEP_NAMES)


def test_refused_document_says_which_keys_would_do() -> None:
    refusal = explain_document({"a": 1, "b": 2}, {"log_history": "trainer state"})
    assert refusal.reason.startswith(
        "is JSON of no known kind. Its keys: a, b. Read are objects with log_history (trainer"
    )
    assert explain_document([], {}).reason.startswith("is JSON of no known kind. Read are objects")


def test_long_names_and_many_cells_are_cut() -> None:
    heading = ",".join(f"{'c' * 500}{i}" for i in range(500)) + "\n" + ",".join("1" * 500) + "\n"
    assert len(explain_text(heading.encode(), READ_KINDS, KINDS).reason) < 2_000
    report = ImportReport()
    for line in range(30):
        report.refuse_cell(line, "c" * 500, "x" * 500)
    assert (len(report.refused_cells), report.omitted_cells, report.cell_count) == (MAX_REFUSED_CELLS, 10, 30)
    assert report.refused_cells[0].text == "x" * 80 + "…"


def test_command_names_refused_cells_and_the_names_that_would_do(ada: User, tmp_path: Path) -> None:
    (tmp_path / "verl.log").write_text(VERL)
    (tmp_path / "a.csv").write_text(TABLE)
    out = StringIO()
    call_command("import", str(tmp_path / "verl.log"), str(tmp_path / "a.csv"), stdout=out)
    assert "  not read: line 1, column b: 'x0' is not a number\n" in out.getvalue()
    assert out.getvalue().count("  not read: line ") == 20 and "  not read: 5 more cells\n" in out.getvalue()
    assert "a.csv: is a table without a column of steps. Its columns: epoch, loss. Read as a step: " in out.getvalue()
    events = AttemptEvent.objects.filter(level="warning").values_list("why", flat=True)
    assert "verl.log, line 20, column b: 'x19' is not a number" in events
    with pytest.raises(CommandError, match="Nothing was read"):
        call_command("import", str(tmp_path / "a.csv"), stdout=StringIO())


def test_api_names_refused_cells_and_expected_names(ada: User) -> None:
    files = [SimpleUploadedFile("verl.log", VERL.encode()), SimpleUploadedFile("a.csv", TABLE.encode())]
    files += [SimpleUploadedFile("a.json", b'{"a": 1}'), SimpleUploadedFile("b.md", b"# no\n")]
    files += [SimpleUploadedFile("eval.json", b'{"seed_results": {}}')]
    result = calls(ada).post("/api/v1/imports", {"files": files}).json()
    (read,) = result["files"]
    assert read["refused_cells"][0] == {"line": 1, "column": "b", "text": "x0", "why": "is not a number"}
    assert (len(read["refused_cells"]), read["refused_cells_more"]) == (20, 5)
    refused = {file["name"]: (file["expected_what"], file["expected"]) for file in result["not_read"]}
    assert refused["a.csv"] == ("step columns", [*STEP_NAMES])
    assert refused["b.md"] == ("kinds", [*READ_KINDS]) and refused["a.json"][0] == "keys"
    reasons = {file["name"]: file["why"] for file in result["not_read"]}
    assert reasons["eval.json"] == "looks like a file of the kind evaluation, and contains nothing that is read"
    alone = calls(ada).post("/api/v1/imports", {"files": [SimpleUploadedFile("a.csv", TABLE.encode())]})
    assert alone.status_code == 422 and "Read as a step: " in alone.json()["problems"][0]["message"]


def test_page_names_refused_cells_and_the_names_that_would_do(ada_client: Client) -> None:
    files = [SimpleUploadedFile("verl.log", VERL.encode()), SimpleUploadedFile("a.csv", TABLE.encode())]
    page = ada_client.post("/import/", {"experiment": "Imported", "files": files}).content.decode()
    assert "25 cells not read" in page and "<li>… and 5 more</li>" in page
    assert "<li>line 1, column b: &#x27;x0&#x27; is not a number</li>" in page
    assert "Its columns: epoch, loss. Read as a step: train/global_step, " in page
    assert Run.objects.get().name == "verl.log"


def test_output_as_json_has_the_structure_of_the_api(ada: User, tmp_path: Path) -> None:
    (tmp_path / "verl.log").write_text(VERL)
    out = StringIO()
    call_command("import", str(tmp_path / "verl.log"), "--json", stdout=out)
    assert json.loads(out.getvalue())["files"][0]["refused_cells_more"] == 5
