"""`manage.py ratings`: a board as text, or everything as JSON; unreadable rows and missing ratings are reported."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import BaseCommand, CommandError, call_command
from statsmodels.stats.proportion import proportion_confint

from judging.management.commands.ratings import Command
from judging.stats.votes import Judgment, Outcome, fastchat_lines, published_lines, read_judgments
from tests.judging.published_votes import judgments_path, needs_data, published_elo


def run_ratings(*arguments: object) -> str:
    out = StringIO()
    call_command("ratings", *map(str, arguments), "--resamples", "100", stdout=out)
    return out.getvalue()


def boards(*arguments: object) -> list[dict]:
    return json.loads(run_ratings(*arguments, "--json"))["boards"]


def make_judgments(*verdicts: Outcome, annotator: str = "eve", criterion: str = "help") -> list[Judgment]:
    """Return judgments of ada against bo, each on its own prompt."""
    return [
        Judgment("ada", "bo", criterion, str(number), annotator, verdict=outcome, lengths=(20 + number % 3, 10))
        for number, outcome in enumerate(verdicts)
    ]


def write_judgments(path: Path, judgments: list[Judgment]) -> Path:
    path.write_text("\n".join(fastchat_lines(judgments)) + "\n")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    outcomes = np.random.default_rng(0).choice([Outcome.A, Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD], 120)
    return write_judgments(tmp_path / "votes.jsonl", make_judgments(*map(Outcome, outcomes)))


def test_ratings_command_prints_leads_with_intervals(file):
    lines = run_ratings(file).splitlines()
    assert lines[0].startswith("help: 120 of 120 judgments count; 120 prompts, 1 judge; ")
    assert lines[1] == (
        "Bradley–Terry, a tie is half a win for each. 95% intervals: Student's t, clustered by prompts. P(best): 100 "
        "resamples, seed 0."
    )
    head, ada, bo = lines[3:6]
    assert " ".join(head.split()) == (
        "contestant rating interval votes won lost tied P(best) rank ahead of the next by"
    )
    assert ada.split()[0] == "ada"
    assert bo.split()[0] == "bo"
    assert "120" in ada


def test_anchor_is_rated_1000(file):
    bo = next(line for line in run_ratings(file, "--anchor", "bo").splitlines() if line.startswith("bo"))
    assert "1000  [1000, 1000]" in bo


def test_ratings_command_prints_boards_of_selected_criteria(tmp_path):
    votes = make_judgments(*[Outcome.A, Outcome.B] * 12) + make_judgments(
        *[Outcome.B, Outcome.A] * 12, criterion="harm"
    )
    file = write_judgments(tmp_path / "votes.jsonl", votes)
    assert [board["criterion"] for board in boards(file)] == ["help", "harm"]
    assert [board["criterion"] for board in boards(file, "--criterion", "harm")] == ["harm"]
    with pytest.raises(CommandError, match="the criterion must be one of 'help', 'harm', not 'tone'"):
        run_ratings(file, "--criterion", "tone")


def test_several_files_are_one_vote(tmp_path, file):
    more = write_judgments(tmp_path / "more.jsonl", make_judgments(*[Outcome.A, Outcome.B] * 10, annotator="flo"))
    (board,) = boards(file, more)
    assert board["board"]["tally"]["counted"] == 140
    assert board["agreement"]["pairs"][0]["raters"] == ["eve", "flo"]
    assert board["agreement"]["pairs"][0]["items"] == 20
    text = run_ratings(file, more)
    assert "Judges agree with α = " in text
    assert any(line.startswith("eve and flo") and " 20 " in line for line in text.splitlines())


def test_ratings_command_prints_control_effects(file):
    text = run_ratings(file, "--control", "length")
    assert "Controlled for length, ties as half wins, over 120 votes (0 lack this information):" in text
    assert "Elo for one standard deviation" in text
    with pytest.raises(CommandError, match="unknown control tone; known are position, length"):
        run_ratings(file, "--control", "tone")


def test_ratings_command_prints_reason_for_missing_control(tmp_path):
    text = run_ratings(
        write_judgments(tmp_path / "votes.jsonl", make_judgments(Outcome.A, Outcome.A)), "--control", "position"
    )
    assert "Not controlled: ada won every comparison" in text


def test_ratings_command_prints_pairs_with_counts_and_intervals(file):
    lines = run_ratings(file, "--pairs").splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("pair"))
    assert " ".join(lines[head].split()) == "pair difference interval won interval of tied both bad"
    assert lines[head + 1].startswith("ada over bo")
    assert " 120 " in lines[head + 1]


def test_categories_have_boards_of_their_own(tmp_path):
    votes = [
        Judgment("ada", "bo", "help", str(k), verdict=Outcome(k % 2), categories=("law",) if k < 30 else ("sport",))
        for k in range(60)
    ]
    rows = boards(write_judgments(tmp_path / "votes.jsonl", votes), "--by-category")
    assert [row["criterion"] for row in rows] == ["help", "help, law", "help, sport"]
    assert [row["board"]["tally"]["counted"] for row in rows] == [60, 30, 30]


def test_unreadable_rows_are_reported_by_line(tmp_path, file):
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n" * 12 + file.read_text())
    text = run_ratings(broken)
    assert text.startswith("Invalid: broken.jsonl, line 1: is not JSON")
    assert "… and 2 more; --json lists them" in text
    assert len(json.loads(run_ratings(broken, "--json"))["problems"]) == 12


def test_judgments_without_prompt_are_reported(tmp_path):
    votes = [json.loads(line) for line in fastchat_lines(make_judgments(*[Outcome.A, Outcome.B] * 12))]
    (tmp_path / "votes.json").write_text(json.dumps([vote | {"question_id": None} for vote in votes]))
    assert run_ratings(tmp_path / "votes.json").startswith("24 judgments name no prompt: each has a prompt of its own.")


def test_unbeaten_contestant_is_reported_without_rating(tmp_path):
    text = run_ratings(write_judgments(tmp_path / "votes.jsonl", make_judgments(Outcome.A)))
    assert "ada won every comparison: its rating has no upper bound, so it has none." in text


def test_ratings_command_prints_win_rates_of_contestants_without_rating(tmp_path, file):
    one_sided = write_judgments(tmp_path / "one-sided.jsonl", make_judgments(*[Outcome.A] * 12))
    lines = [" ".join(line.split()) for line in run_ratings(one_sided).splitlines()]
    assert any(line.startswith("contestant rating interval win rate Wilson interval votes won") for line in lines)
    low, high = proportion_confint(12, 12, method="wilson")
    assert any(line.startswith(f"ada – 100.0% [{low:.1%}, {high:.1%}] 12 12 0 0") for line in lines)
    assert any(line.startswith(f"bo – 0.0% [0.0%, {1 - low:.1%}] 12 0 12 0") for line in lines)
    assert "win rate" not in run_ratings(file)
    assert [rate["value"] for rate in boards(one_sided)[0]["win_rates"]] == [1, 0]


def test_the_guide_names_every_option():
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "ratings.md").read_text(encoding="utf-8")
    parser = Command().create_parser("manage.py", "ratings")
    django = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    ours = {option for action in parser._actions for option in action.option_strings} - django
    assert set(re.findall(r"--[a-z][a-z-]*", guide)) == ours


def test_files_without_a_judgment_make_no_board(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert (
        run_ratings(tmp_path / "empty.jsonl").strip() == "These files contain no judgments, so there is no leaderboard."
    )


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(CommandError, match=r"nosuch\.jsonl cannot be read: No such file or directory"):
        run_ratings(tmp_path / "nosuch.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="binary is not UTF-8 text"):
        run_ratings(tmp_path / "binary")


def test_an_unknown_anchor_is_an_error_that_names_who_there_is(file):
    with pytest.raises(CommandError, match="the anchor must be one of ada, bo, not 'cy'"):
        run_ratings(file, "--anchor", "cy")


@needs_data
def test_the_published_file_gives_the_published_ratings_and_those_without_an_order():
    first, second = boards(judgments_path(), "--anchor", "Alpaca-7B", "--online-elo", "--control", "position")
    online = dict(zip(first["contestants"], first["online_elo"]["single"], strict=True))
    assert online == pytest.approx(published_elo(), abs=1e-9)
    assert first["board"]["standings"][0]["anchored"]["value"] == pytest.approx(1517.243, abs=0.001)
    assert second["board"]["standings"][0]["anchored"]["value"] == pytest.approx(1539.972, abs=0.001)
    text = run_ratings(judgments_path(), "--anchor", "Alpaca-7B", "--online-elo", "--control", "position")
    assert "ES-500            1564  1531  64     289" in text
    assert "position: +41 ± 19 Elo for being first" in text


@needs_data
def test_exported_judgments_give_same_board_hash(tmp_path):
    judgments = read_judgments(judgments_path().read_text(), "x").judgments
    (tmp_path / "arena.jsonl").write_text("\n".join(fastchat_lines(judgments)))
    (tmp_path / "again.jsonl").write_text("\n".join(published_lines(judgments)))
    hashes = [[row["hash"] for row in boards(file)] for file in (judgments_path(), *sorted(tmp_path.iterdir()))]
    assert hashes[0] == hashes[1] == hashes[2]


def test_ratings_command_reports_repeated_rows_without_counting_them(tmp_path: Path) -> None:
    path = write_judgments(tmp_path / "votes.jsonl", make_judgments(Outcome.A, Outcome.A, Outcome.B))
    once = boards(path)
    path.write_text(path.read_text() * 2)

    assert [row["hash"] for row in boards(path)] == [row["hash"] for row in once]
    earlier = "votes.jsonl, line 4: is the same as votes.jsonl, line 1"
    assert f"3 rows repeat earlier ones and are not counted (first: {earlier})." in run_ratings(path)
