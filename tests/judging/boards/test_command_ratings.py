"""`manage.py ratings`: a board for people, or everything as JSON; what it cannot read or rate it says."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import BaseCommand, CommandError, call_command

from judging.management.commands.ratings import Command
from judging.stats.votes import Judgment, Outcome, fastchat, published, read
from tests.judging.published_votes import judgments_path, needs_data, published_elo


def said(*arguments: object) -> str:
    out = StringIO()
    call_command("ratings", *map(str, arguments), "--resamples", "100", stdout=out)
    return out.getvalue()


def boards(*arguments: object) -> list[dict]:
    return json.loads(said(*arguments, "--json"))["boards"]


def judged(*verdicts: Outcome, annotator: str = "eve", criterion: str = "help") -> list[Judgment]:
    """Of ada against bo, a prompt each."""
    return [
        Judgment("ada", "bo", criterion, str(number), annotator, verdict=one, lengths=(20 + number % 3, 10))
        for number, one in enumerate(verdicts)
    ]


def written(path: Path, judgments: list[Judgment]) -> Path:
    path.write_text("\n".join(fastchat(judgments)) + "\n")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    outcomes = np.random.default_rng(0).choice([Outcome.A, Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD], 120)
    return written(tmp_path / "votes.jsonl", judged(*map(Outcome, outcomes)))


def test_a_board_says_who_is_ahead_by_how_much_and_how_sure(file):
    lines = said(file).splitlines()
    assert lines[0].startswith("help: 120 of 120 judgments count; 120 prompts, 1 judge; ")
    assert lines[1] == ("Bradley–Terry, a tie is half a win for each. 95% intervals: 100 resamples of prompts, seed 0.")
    head, ada, bo = lines[3:6]
    assert " ".join(head.split()) == (
        "contestant rating interval votes won lost tied P(best) rank ahead of the next by"
    )
    assert ada.split()[0] == "ada"
    assert bo.split()[0] == "bo"
    assert "120" in ada


def test_an_anchor_stands_at_a_thousand(file):
    bo = next(line for line in said(file, "--anchor", "bo").splitlines() if line.startswith("bo"))
    assert "1000  [1000, 1000]" in bo


def test_every_criterion_has_a_board_or_only_those_named(tmp_path):
    votes = judged(*[Outcome.A, Outcome.B] * 12) + judged(*[Outcome.B, Outcome.A] * 12, criterion="harm")
    file = written(tmp_path / "votes.jsonl", votes)
    assert [one["criterion"] for one in boards(file)] == ["help", "harm"]
    assert [one["criterion"] for one in boards(file, "--criterion", "harm")] == ["harm"]
    with pytest.raises(CommandError, match="no judgment is of 'tone'; the criteria are 'help', 'harm'"):
        said(file, "--criterion", "tone")


def test_several_files_are_one_vote(tmp_path, file):
    more = written(tmp_path / "more.jsonl", judged(*[Outcome.A, Outcome.B] * 10, annotator="flo"))
    (board,) = boards(file, more)
    assert board["board"]["tally"]["counted"] == 140
    assert board["agreement"]["pairs"][0]["raters"] == ["eve", "flo"]
    assert board["agreement"]["pairs"][0]["items"] == 20
    text = said(file, more)
    assert "Judges agree with α = " in text
    assert any(line.startswith("eve and flo") and " 20 " in line for line in text.splitlines())


def test_controls_stand_beside_the_board(file):
    text = said(file, "--control", "length")
    assert "Controlled for length, ties as half wins, over 120 votes (0 say nothing of it):" in text
    assert "Elo for one standard deviation" in text
    with pytest.raises(CommandError, match="there is no control tone; there are position, length"):
        said(file, "--control", "tone")


def test_controls_that_cannot_be_are_told_beside_the_board(tmp_path):
    text = said(written(tmp_path / "votes.jsonl", judged(Outcome.A, Outcome.A)), "--control", "position")
    assert "Not controlled: ada won every comparison" in text


def test_pairs_are_told_with_their_number_and_how_sure_each_share_is(file):
    lines = said(file, "--pairs").splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("pair"))
    assert " ".join(lines[head].split()) == "pair apart by interval won interval of tied both bad"
    assert lines[head + 1].startswith("ada over bo")
    assert " 120 " in lines[head + 1]


def test_categories_have_boards_of_their_own(tmp_path):
    votes = [
        Judgment("ada", "bo", "help", str(k), verdict=Outcome(k % 2), categories=("law",) if k < 30 else ("sport",))
        for k in range(60)
    ]
    found = boards(written(tmp_path / "votes.jsonl", votes), "--by-category")
    assert [one["criterion"] for one in found] == ["help", "help, law", "help, sport"]
    assert [one["board"]["tally"]["counted"] for one in found] == [60, 30, 30]


def test_what_is_not_understood_is_named_by_line(tmp_path, file):
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n" * 12 + file.read_text())
    text = said(broken)
    assert text.startswith("Not understood: broken.jsonl, line 1: is not JSON")
    assert "… and 2 more; --json names them" in text
    assert len(json.loads(said(broken, "--json"))["problems"]) == 12


def test_judgments_without_a_prompt_are_told(tmp_path):
    votes = [json.loads(line) for line in fastchat(judged(*[Outcome.A, Outcome.B] * 12))]
    (tmp_path / "votes.json").write_text(json.dumps([vote | {"question_id": None} for vote in votes]))
    assert said(tmp_path / "votes.json").startswith("24 judgments name no prompt: each counts as one of its own.")


def test_who_is_unbeaten_is_told_in_words(tmp_path):
    text = said(written(tmp_path / "votes.jsonl", judged(Outcome.A)))
    assert "ada won every comparison: its rating has no upper bound, so it has none." in text


def test_the_guide_names_every_option():
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "ratings.md").read_text(encoding="utf-8")
    parser = Command().create_parser("manage.py", "ratings")
    django = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    ours = {option for action in parser._actions for option in action.option_strings} - django
    assert set(re.findall(r"--[a-z][a-z-]*", guide)) == ours


def test_files_without_a_judgment_make_no_board(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert said(tmp_path / "empty.jsonl").strip() == "There are no judgments in these files, so there is no board."


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(CommandError, match=r"nosuch\.jsonl cannot be read: No such file or directory"):
        said(tmp_path / "nosuch.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="binary is not UTF-8 text"):
        said(tmp_path / "binary")


def test_an_unknown_anchor_is_an_error_that_names_who_there_is(file):
    with pytest.raises(CommandError, match="the anchor must be one of ada, bo, not 'cy'"):
        said(file, "--anchor", "cy")


@needs_data
def test_the_published_file_gives_the_published_ratings_and_those_without_an_order():
    first, second = boards(judgments_path(), "--anchor", "Alpaca-7B", "--online-elo", "--control", "position")
    online = dict(zip(first["contestants"], first["online_elo"]["single"], strict=True))
    assert online == pytest.approx(published_elo(), abs=1e-9)
    assert first["board"]["standings"][0]["anchored"]["value"] == pytest.approx(1517.243, abs=0.001)
    assert second["board"]["standings"][0]["anchored"]["value"] == pytest.approx(1539.972, abs=0.001)
    text = said(judgments_path(), "--anchor", "Alpaca-7B", "--online-elo", "--control", "position")
    assert "ES-500            1564  1531  64     289" in text
    assert "position: +41 ± 19 Elo for standing first" in text


@needs_data
def test_what_is_exported_rates_the_same_by_its_hash(tmp_path):
    judgments = read(judgments_path().read_text(), "x").judgments
    (tmp_path / "arena.jsonl").write_text("\n".join(fastchat(judgments)))
    (tmp_path / "again.jsonl").write_text("\n".join(published(judgments)))
    hashes = [[one["hash"] for one in boards(file)] for file in (judgments_path(), *sorted(tmp_path.iterdir()))]
    assert hashes[0] == hashes[1] == hashes[2]


def test_ratings_command_counts_no_row_twice_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.jsonl", judged(Outcome.A, Outcome.A, Outcome.B))
    once = boards(path)
    path.write_text(path.read_text() * 2)

    assert [one["hash"] for one in boards(path)] == [one["hash"] for one in once]
    earlier = "votes.jsonl, line 4: is the same as votes.jsonl, line 1"
    assert f"3 rows repeat earlier ones and are not counted (first: {earlier})." in said(path)
