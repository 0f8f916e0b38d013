"""`manage.py judgments` imports and exports files, and reports the result."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from judging.models import Tournament, Verdict

pytestmark = pytest.mark.django_db
ROW = {"model_a": "ada-1", "model_b": "bo-2", "dimension": "help", "prompt_id": 3, "scores": [8.0, 4.0]}


def run_judgments(*args: object, **options: object) -> str:
    out = StringIO()
    call_command("judgments", *map(str, args), stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def path(tmp_path: Path, ada: User) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(ROW | {'prompt_id': n})}\n" for n in range(3)) + "{}\n")
    return path


def test_imported_judgments_export_unchanged(path: Path, tmp_path: Path) -> None:
    output = run_judgments("import", path)
    assert "Invalid: mine.jsonl, line 4: has neither scores nor winner" in output
    tournament = Tournament.objects.get()
    assert f"3 judgments read in mine: 3 new; 1 invalid row.\nTournament {tournament.pk}: " in output
    body = json.loads(run_judgments("import", path, "--into", tournament.pk, "--json"))
    assert body["tournament"] == tournament.pk and body["files"][0]["made"] == 0
    run_judgments("export", tournament.pk, "--form", "published", "--out", tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [ROW | {"prompt_id": n, "judge": "not named"} for n in range(3)]
    assert run_judgments("export", tournament.pk).count('"winner": "model_a"') == 3
    assert run_judgments("export", tournament.pk, "--transcript").strip() == ""


def test_invalid_judgments_command_reports_error(path: Path, ada: User, bo: User) -> None:
    with pytest.raises(CommandError, match="--owner must name one of ada, bo"):
        run_judgments("import", path)
    with pytest.raises(CommandError, match=r"nowhere\.jsonl cannot be read: No such file"):
        run_judgments("import", path.with_name("nowhere.jsonl"), "--owner", "ada")
    with pytest.raises(CommandError, match="There is no tournament 0"):
        run_judgments("export", 0)
    run_judgments("import", path, "--owner", "ada", "--private", "--name", "Hers")
    tournament = Tournament.objects.get()
    assert (tournament.name, tournament.owner, tournament.is_private) == ("Hers", ada, True)
    Verdict.objects.update(score_a=None, score_b=None)
    with pytest.raises(CommandError, match="3 verdicts have a winner but no scores"):
        run_judgments("export", tournament.pk, "--form", "published")


def test_import_without_judgments_fails_with_formats(tmp_path: Path, ada: User) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n")
    out = StringIO()

    with pytest.raises(
        CommandError, match=r"Nothing was imported\. .*JSON lines.*\.gz.*published.*FastChat's.*MT-bench's"
    ):
        call_command("judgments", "import", str(other), stdout=out)

    assert "Invalid: other.jsonl, line 1: has neither scores nor winner" in out.getvalue()
    assert not Tournament.objects.exists()


def test_import_names_duplicates_with_their_lines(path: Path) -> None:
    path.write_text("".join(f"{json.dumps(ROW | {'prompt_id': n // 2})}\n" for n in range(80)))

    first, again = run_judgments("import", path), run_judgments("import", path)

    assert "Duplicate: mine.jsonl, line 2: is the same as mine.jsonl, line 1\n" in first
    assert "… and 30 more duplicates in mine.jsonl; --json lists the first 40" in first
    assert "40 judgments read in mine: 40 new; 40 duplicates." in first
    assert "40 judgments read in mine: 0 new; 40 already stored; 40 duplicates." in again
    assert Verdict.objects.count() == 40
