"""Soft preferences keep their size from a file to the leaderboard and back: a weighted win rate is their mean."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from judging.boards import BoardSettings, save_board, votes_in
from judging.exchange import ExportOptions, File, ImportTarget, export_lines, import_judgment_files
from judging.models import Rubric, Tournament, Verdict
from judging.stats.ratings import RatingOptions, Resampling, compute_board, win_matrix
from judging.stats.votes import read_judgments, votes_by_criterion
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db
OPTIONS = RatingOptions(resampling=Resampling(resamples=50))
BASELINE, MODEL = "gpt4_1106_preview", "Some-Model-7B"


def alpaca_eval_rows(prompts: int = 60) -> list[dict[str, object]]:
    """Return rows as AlpacaEval's weighted judge writes them: log probabilities make the preference."""
    rng = np.random.default_rng(7)
    preferences = 1 + 1 / (1 + np.exp(-rng.normal(1.5, 3, prompts)))
    return [
        {
            "instruction": f"Question {k}?", "output_1": "one two", "output_2": "three", "generator_1": BASELINE,
            "generator_2": MODEL, "dataset": "koala", "annotator": "weighted_alpaca_eval_gpt4_turbo",
            "preference": float(preference), "raw_completion": {"finish_reason": "length"},
        }
        for k, preference in enumerate(preferences)
    ]  # fmt: skip


def import_rows(owner: User, rows: list[dict[str, object]], name: str = "alpaca") -> Tournament:
    content = io.BytesIO(json.dumps(rows).encode())
    result = import_judgment_files([File(f"{name}.json", content)], ImportTarget(owner, name))
    assert result.tournament is not None and not result.files[0].problems
    return result.tournament


def only_rubric(tournament: Tournament) -> Rubric:
    return tournament.rubrics.get()


def board_hash(tournament: Tournament) -> str:
    return compute_board(votes_in(tournament, only_rubric(tournament)), OPTIONS).hash


def win_rate(tournament: Tournament) -> float:
    """Return the share of games that the model won against the baseline, in per cent, as the leaderboard has it."""
    board = save_board(tournament, only_rubric(tournament)).board
    model, baseline = (board["contestants"].index(name) for name in (MODEL, BASELINE))
    return 100 * board["win_matrix"]["share"][model][baseline]


def test_weighted_win_rate_is_the_mean_preference(ada: User) -> None:
    rows = alpaca_eval_rows()
    expected = 100 * np.mean([row["preference"] for row in rows]) - 100
    winners = 100 * np.mean([row["preference"] > 1.5 for row in rows])

    tournament = import_rows(ada, rows)

    assert win_rate(tournament) == pytest.approx(expected, abs=1e-9)
    assert abs(expected - winners) > 1
    votes = votes_in(tournament, only_rubric(tournament))
    assert abs(votes.features["length"]) == pytest.approx(np.full(60, (7 - 5) / 12))
    # Two contestants have the log odds of the win rate.
    best = compute_board(votes, OPTIONS).standings[0]
    assert best.ahead.by.value == pytest.approx(400 * np.log10(expected / (100 - expected)), abs=1e-6)  # type: ignore[union-attr]


def test_scores_that_are_probabilities_are_soft_preferences(ada: User) -> None:
    rows = alpaca_eval_rows()
    scored = [
        {
            "model_a": row["generator_1"], "model_b": row["generator_2"], "prompt_id": k,
            "scores": [2 - row["preference"], row["preference"] - 1],  # type: ignore[operator]
        }
        for k, row in enumerate(rows)
    ]  # fmt: skip

    tournament = import_rows(ada, scored)

    assert win_rate(tournament) == pytest.approx(100 * np.mean([row["preference"] for row in rows]) - 100, abs=1e-9)
    decided = votes_in(tournament, only_rubric(tournament), tie_threshold=0.0)
    assert not decided.is_soft.any()
    hard = save_board(tournament, only_rubric(tournament), BoardSettings(threshold=0.0)).board["win_matrix"]["wins"]
    assert np.sum(hard) == 60 == round(np.sum(hard))


@pytest.mark.parametrize("form", ["fastchat", "published"])
def test_soft_preferences_survive_a_round_trip(form: str, ada: User) -> None:
    rows = alpaca_eval_rows(20)
    rows[0]["preference"], rows[1]["preference"], rows[2]["preference"] = 1.0, 1.5, 2.0
    if form == "published":
        rows = [
            {"model_a": MODEL, "model_b": BASELINE, "order_ab": [MODEL, BASELINE], "prompt_id": k,
             "scores": [p - 1, 2 - p]}
            for k, row in enumerate(rows)
            if (p := row["preference"])
        ]  # fmt: skip  # type: ignore[operator]
    tournament = import_rows(ada, rows)

    text = "".join(export_lines(tournament, ExportOptions(form)))
    again = import_rows(ada, [json.loads(line) for line in text.splitlines()], "again")

    assert board_hash(again) == board_hash(tournament)
    judgments = read_judgments(text, "x").judgments
    of_file = votes_by_criterion(judgments, judgments[0].criterion)
    assert compute_board(of_file, OPTIONS).hash == board_hash(tournament)
    assert sorted("".join(export_lines(again, ExportOptions(form))).splitlines()) == sorted(text.splitlines())
    assert Verdict.objects.filter(comparison__tournament=again, preference=None).count() == 3


def test_verdict_with_probabilities_as_scores_stays_hard_in_files(ada: User) -> None:
    rows = [
        {"model_a": "ada", "model_b": "bo", "prompt_id": k, "winner": "model_a" if k % 3 else "model_b",
         "scores": [0.7, 0.3]}
        for k in range(9)
    ]  # fmt: skip
    tournament = import_rows(ada, rows)
    assert not Verdict.objects.exclude(preference=None).exists()

    for form in ("fastchat", "published"):
        text = "".join(export_lines(tournament, ExportOptions(form)))
        again = import_rows(ada, [json.loads(line) for line in text.splitlines()], form)
        assert board_hash(again) == board_hash(tournament)


def test_same_file_twice_changes_nothing(ada: User) -> None:
    rows = alpaca_eval_rows(10)
    import_rows(ada, rows)
    before = list(Verdict.objects.order_by("pk").values_list())
    import_rows(ada, rows)

    assert list(Verdict.objects.order_by("pk").values_list()) == before


def test_leaderboard_counts_soft_preferences(ada: User, ada_client: Client) -> None:
    rows = alpaca_eval_rows(12)
    rows[0]["preference"] = 2
    tournament = import_rows(ada, rows)
    save_board(tournament, only_rubric(tournament))
    page = " ".join(ada_client.get(f"/judging/{tournament.pk}/board/").content.decode().split())

    assert "11: in part a win for each response" in page


def test_table_and_api_have_the_preference(ada: User) -> None:
    tournament = import_rows(ada, alpaca_eval_rows(3))
    by_pk = list(Verdict.objects.order_by("pk").values_list("preference", flat=True))

    table = list(csv.DictReader(io.StringIO("".join(export_lines(tournament, ExportOptions("csv"))))))
    assert [float(row["preference"]) for row in table] == by_pk
    assert table[0]["by"] == "weighted_alpaca_eval_gpt4_turbo"
    answer = calls(ada).get(f"/api/v1/tournaments/{tournament.pk}/verdicts")
    assert [item["preference"] for item in answer.json()["items"]] == by_pk


def test_win_matrix_and_ratings_use_shares() -> None:
    rows = [{"model_a": "ada", "model_b": "bo", "prompt_id": k, "preference": p} for k, p in enumerate([1.25, 1.5, 2])]
    votes = votes_by_criterion(read_judgments(json.dumps(rows), "x").judgments, "")
    matrix = win_matrix(votes)

    assert matrix.wins[0, 1] == 0.75
    assert matrix.wins[1, 0] == 1.25
    assert (matrix.ties[0, 1], matrix.games[0, 1]) == (1, 3)
