"""The leaderboard page of a tournament: caveats before any number, and never a wrong number."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta

import plotly.graph_objects as go
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from judging import boards
from judging.boards import BoardSettings, compute_due_boards, save_board, tasks, votes_in
from judging.boards.format import short_names
from judging.models import BoardOrder, Calibration, Rubric, Snapshot, Tournament, Verdict
from judging.stats.ratings import compute_board
from judging.stats.votes import Outcome
from judging.tournaments import Entry, create_tournament
from runs.access import give_role
from runs.models import Experiment
from runs.tables import count
from tests.cases import each_case
from tests.judging.boards.test_votes import model_judge
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, first_votes
from tests.judging.synthetic_votes import make_game_votes, make_random_votes
from tests.judging.tournament_factory import answered_run, make_gold_set, make_tournament, rubric
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=12, contestants=4)


def save_voted_board(tournament: Tournament, size: int = 150, prompts: int = 12) -> Snapshot:
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(size, contestants=4, prompts=prompts)))
    return save_board(tournament, rubric("helpfulness"))


def page(client: Client, tournament: Tournament, more: str = "", **headers: str) -> str:
    return client.get(f"/judging/{tournament.pk}/board/{more}", headers=headers).content.decode()


def page_text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("&#x27;", "'")))


def test_board_page_shows_all_parts_of_snapshot(ada_client: Client, tournament: Tournament) -> None:
    snapshot = save_voted_board(tournament, prompts=8)
    text = page_text(html := page(ada_client, tournament))

    for standing in snapshot.board["board"]["standings"]:
        assert f"{standing['rating']['value']:.0f}" in text
        assert f"{standing['rating']['low']:.0f} … {standing['rating']['high']:.0f}".replace("-", "−") in text
    assert f"from {snapshot.votes} verdicts" in text
    assert snapshot.digest in html
    assert snapshot.board["board"]["sentences"][0] in text
    assert text.index("only rough: take 10 or more") < text.index("Standings"), "before any number"
    for phrase in ("Being first is worth", "Online Elo", "200 other orders", "shuffled with seed 123",
                        "Probability of each rank", "Rating differences", "The most informative next vote is between",
                        "Log loss on held-out prompts", "3 voters",
                        "95 % intervals are Student's t, clustered by prompts",
                        "Probabilities of ranks are from 1000 resamples, seed 0"):  # fmt: skip
        assert phrase in text, phrase


def test_board_chart_is_valid_with_summary_sentence(ada_client: Client, tournament: Tournament) -> None:
    save_voted_board(tournament)

    html = ada_client.get(f"/judging/{tournament.pk}/board/chart/?name=forest").content.decode()
    (figure,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    chart = go.Figure(json.loads(figure))

    assert sum(len(trace.x) for trace in chart.data) == 4
    assert "leads at" in html or "The lead is not decided" in html


@each_case(
    ("games", "sentence"),
    [
        ([], "No votes yet, so nothing is decided"),
        ([(0, 1, Outcome.A)], "runner 0 · step 0 · eval won every comparison"),
        ([(0, 1, Outcome.TIE), (2, 3, Outcome.TIE)], "No comparison joins these"),
        ([(0, k, out) for k in (1, 2, 3) for out in (Outcome.A,)] + [(1, 2, Outcome.TIE), (2, 3, Outcome.TIE)],
         "its rating has no upper bound, so it has none"),
    ],
)  # fmt: skip
def test_board_page_gives_reason_for_missing_ratings(
    ada_client: Client, tournament: Tournament, games: list, sentence: str
) -> None:
    if games:
        cast(tournament, rubric("helpfulness"), make_game_votes(("a", "b", "c", "d"), *games))
        compute_due_boards()

    text = page_text(page(ada_client, tournament))

    assert sentence in text
    assert "nan" not in text.lower()


def test_board_form_orders_board_that_job_computes(
    ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_voted_board(tournament)
    monkeypatch.setattr(tasks.update_boards, "delay", lambda: None)
    form = BoardSettings(ties="davidson", unit="annotator", level=0.8, anchor="runner 1 · step 0 · eval", prior=0.5)

    answer = ada_client.post(f"/judging/{tournament.pk}/board/order/?criterion=helpfulness", form.to_json())
    assert answer.status_code == 302
    waiting = page_text(ada_client.get(answer["Location"]).content.decode())
    assert "Queued" in waiting
    tasks.update_boards()
    fresh = ada_client.get(answer["Location"] + "&shown=&awaited=1", headers={"HX-Request": "true"})
    assert fresh["HX-Retarget"] == "#board"
    assert "Davidson's strengths" in page_text(fresh.content.decode())

    text = page_text(ada_client.get(answer["Location"]).content.decode())
    assert "Davidson's strengths" in text
    assert "with runner 1 · step 0 · eval at 1000" in text
    assert "so their scale differs from this leaderboard's" in text
    assert "80 %" in text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "Every pair that met was given 0.5 wins each way" in text
    assert not BoardOrder.objects.filter(ended_at=None).exists()


def test_the_job_is_called_for_what_was_ordered(
    ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_voted_board(tournament)
    monkeypatch.setattr(tasks.update_boards, "delay", tasks.update_boards)

    answer = ada_client.post(
        f"/judging/{tournament.pk}/board/order/?criterion=helpfulness", BoardSettings(swap="tie").to_json()
    )

    assert boards.newest_snapshot(tournament, rubric("helpfulness"), BoardSettings(swap="tie")) is not None
    assert answer["Location"].endswith("?criterion=helpfulness&swap=tie")


BOARDS = ("", "chart/", "file/", "history/", "history/chart/")
UNKNOWN = {
    "criterion=nonsense": "criterion must be one of helpfulness, harmlessness, not 'nonsense'",
    "ties=sometimes": "ties must be one of half-win, davidson, not 'sometimes'",
    "level=2": "level must be a number from 0.5 to 0.999, not '2'",
    "anchor=me": "anchor must be one of runner 0",
}


@each_case("query", UNKNOWN)
@each_case("part", BOARDS)
def test_invalid_board_query_is_answered_with_valid_choices(
    ada_client: Client, tournament: Tournament, part: str, query: str
) -> None:
    answer = ada_client.get(f"/judging/{tournament.pk}/board/{part}?{query}")
    assert answer.status_code == 404
    assert UNKNOWN[query] in page_text(answer.content.decode())


def test_page_and_api_spell_criteria_alike(ada: User, ada_client: Client, tournament: Tournament) -> None:
    older = tournament.rubrics.select_related("criterion").order_by("pk").first()
    newer = Rubric.objects.create(criterion=older.criterion, version=older.version + 1, question="?", text="!")
    tournament.rubrics.add(newer)
    for name in (f"helpfulness v{older.version}", f"helpfulness v{newer.version}", "helpfulness", "harmlessness"):
        assert ada_client.get(f"/judging/{tournament.pk}/board/", {"criterion": name}).status_code == 200
        answer = calls(ada, "read").get(f"/api/v1/tournaments/{tournament.pk}/board", {"criterion": name})
        assert "has not been computed" in str(answer.json()), "the board is that of the criterion, and not there yet"
    html = page(ada_client, tournament)
    assert f"criterion=helpfulness+v{newer.version}" in html and f"helpfulness v{newer.version}" in page_text(html)


def test_invalid_board_order_is_refused(ada_client: Client, tournament: Tournament) -> None:
    refused = ada_client.post(f"/judging/{tournament.pk}/board/order/", BoardSettings(prior=-1).to_json())
    assert refused.status_code == 400


def test_board_page_lists_newer_verdicts_and_excluded_judges(
    ada: User, ada_client: Client, tournament: Tournament
) -> None:
    snapshot = save_voted_board(tournament)
    add_judge_verdicts(tournament, rubric("helpfulness"), judge=model_judge(ada, "strict"))
    add_judge_verdicts(tournament, rubric("helpfulness"))

    text = page_text(page(ada_client, tournament))

    assert "72 newer verdicts are not included" in text
    assert "strict has not been calibrated by helpfulness v1." in text.replace("  ", " ")
    assert "rules, not a model or a human" in text
    assert snapshot == boards.newest_snapshot(tournament, rubric("helpfulness"))


def test_board_downloads_match_snapshot(ada_client: Client, tournament: Tournament) -> None:
    snapshot = save_voted_board(tournament)
    at = f"/judging/{tournament.pk}/board/file/"

    whole = ada_client.get(f"{at}?as=json")
    assert whole["Content-Disposition"].endswith('board.json"')
    assert whole.json()["hash"] == snapshot.digest == compute_board(votes_in(tournament, rubric("helpfulness"))).hash
    assert whole.json()["from"] == [
        {"name": None, "kind": "people", "people": 3, "verdicts": snapshot.votes, "left_out": ""}
    ]
    rows = list(csv.DictReader(io.StringIO(ada_client.get(f"{at}?as=csv").content.decode())))
    assert [row["contestant"] for row in rows] == [
        standing["contestant"] for standing in snapshot.board["board"]["standings"]
    ]
    assert float(rows[0]["rating value"]) == snapshot.board["board"]["standings"][0]["rating"]["value"]
    lengths = [len(ada_client.get(f"{at}?as=csv&table={name}").content.splitlines()) for name in ("pairs", "wins")]
    assert lengths == [1 + 6, 1 + 12]


def test_board_page_respects_visibility_and_viewer_role(
    ada_client: Client, bo: User, bo_client: Client, tournament: Tournament
) -> None:
    save_voted_board(tournament)
    give_role(bo, "viewer")

    assert "Standings" in page(bo_client, tournament)
    assert "Show leaderboard" not in page(bo_client, tournament)
    assert bo_client.post(f"/judging/{tournament.pk}/board/order/", BoardSettings().to_json()).status_code == 403
    Tournament.objects.filter(pk=tournament.pk).update(is_private=True)
    for path in ("", "file/", "chart/?name=forest", "history/", "history/chart/?name=time"):
        assert bo_client.get(f"/judging/{tournament.pk}/board/{path}").status_code == 404


def test_ratings_over_steps_and_over_time_are_drawn(ada: User, ada_client: Client, experiment: Experiment) -> None:
    run = answered_run(experiment, "climbs", [f"a {k}" for k in range(12)])
    for step in (10, 20):
        for answer in list(run.response_set.filter(step=0)):
            answer.pk, answer.step, answer.seq = None, step, step * 100 + answer.seq
            answer.save()
    other = answered_run(experiment, "stays", [f"b {k}" for k in range(12)])
    entries = [*(Entry(run, step, "eval") for step in (0, 10, 20)), Entry(other, 0, "eval")]
    tournament = create_tournament(Tournament(owner=ada, name="Steps"), entries, [rubric("helpfulness")], prompts=12)
    save_voted_board(tournament)
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=1))
    Verdict.objects.filter(pk=Verdict.objects.latest("pk").pk).update(replaced_at=timezone.now())
    save_board(tournament, rubric("helpfulness"))

    html = ada_client.get(f"/judging/{tournament.pk}/board/history/").content.decode()
    figures = [go.Figure(json.loads(text)) for text in re.findall(r'json">(.*?)</script>', html)]

    assert [len(figure.data) for figure in figures] == [2, 8], "a line and its band; of four contestants"
    assert list(figures[0].data[1].x) == [0, 10, 20]
    assert "climbs: " in html
    assert "2 stored leaderboards" in html
    table = ada_client.get(f"/judging/{tournament.pk}/board/history/chart/?name=steps&as=csv").content.decode()
    assert len(table.splitlines()) == 4


def test_board_page_query_count_is_constant(
    ada: User, ada_client: Client, tournament: Tournament, django_assert_num_queries: object
) -> None:
    save_voted_board(tournament, 20)
    Calibration.objects.create(
        judge=add_judge_verdicts(tournament, rubric("helpfulness"), judge=model_judge(ada)),
        rubric=rubric("helpfulness"), gold_set=make_gold_set(ada), passes=True, measured={},
    )  # fmt: skip
    save_board(tournament, rubric("helpfulness"))
    page(ada_client, tournament)

    with django_assert_num_queries(21):  # type: ignore[operator]
        page(ada_client, tournament)
    cast(tournament, rubric("harmlessness"), first_votes(make_random_votes(300, contestants=4, prompts=12)))
    with django_assert_num_queries(21):  # type: ignore[operator]
        page(ada_client, tournament)


def test_short_names_keep_distinguishing_parts() -> None:
    steps = [f"conciseness on facts, lr 3e-4 · step {k} · eval" for k in (0, 100)]

    assert [len(name) <= 24 for name in short_names(steps).values()] == [True, True]
    assert [name[-6:] for name in short_names(steps).values()] == ["step 0", "ep 100"]
    assert short_names(["a · eval", "b · train"]) == {"a · eval": "a · eval", "b · train": "b · train"}


def test_votes_are_counted_to_the_last_however_many_they_are() -> None:
    assert [count(number) for number in (0.0, 2.5, 1_234_567.0, 100_000.5)] == [
        "0",
        "2.5",
        "1234567",
        "100000.5",
    ]


def test_tournament_pages_name_the_leader(ada_client: Client, tournament: Tournament) -> None:
    assert "No leaderboard yet." in page_text(ada_client.get("/judging/").content.decode())
    snapshot = save_voted_board(tournament)

    first = snapshot.board["board"]["standings"][0]
    is_clear = first["ahead"]["by"]["low"] > 0
    for path in ("/judging/", f"/judging/{tournament.pk}/"):
        text = page_text(ada_client.get(path).content.decode())
        assert f"{first['contestant']} {'leads at' if is_clear else 'is first, and its lead over'}" in text


def test_failed_judgments_are_counted_per_contestant(ada_client: Client, tournament: Tournament) -> None:
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    lost = list(Verdict.objects.filter(comparison__a__place=0).order_by("pk").values_list("pk", flat=True)[:3])
    Verdict.objects.filter(pk__in=lost).update(outcome="refused")

    snapshot = save_board(tournament, rubric("helpfulness"))
    text = page_text(page(ada_client, tournament))

    assert snapshot.board["failed"][0] == 3
    assert sum(snapshot.board["failed"]) == 6
    assert "3 refused: they count for no contestant, and are not ties" in text
    assert "Failed" in text
