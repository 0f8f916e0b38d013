"""The leaderboard of a tournament, as people see it: what must be known before any number, and never a wrong one."""

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
from judging.boards import BoardSettings, keep, tasks, votes_in, work_through
from judging.boards.format import count, short
from judging.models import BoardOrder, Calibration, Rubric, Snapshot, Tournament, Verdict
from judging.stats.ratings import board
from judging.stats.votes import Outcome
from judging.tournaments import Draft, Entry, make
from runs.access import give_role
from runs.models import Experiment
from tests.judging.boards.test_votes import model_judge
from tests.judging.bulk_verdicts import cast, once, ruled
from tests.judging.synthetic_votes import invented, told
from tests.judging.tournament_factory import answered_run, gold, held, rubric
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=12, contestants=4)


def voted(tournament: Tournament, size: int = 150) -> Snapshot:
    cast(tournament, rubric("helpfulness"), once(invented(size, contestants=4, prompts=12)))
    return keep(tournament, rubric("helpfulness"))


def page(client: Client, tournament: Tournament, more: str = "", **headers: str) -> str:
    return client.get(f"/judging/{tournament.pk}/board/{more}", headers=headers).content.decode()


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("&#x27;", "'")))


def test_it_says_everything_about_the_board_that_was_kept(ada_client: Client, tournament: Tournament) -> None:
    kept = voted(tournament)
    said = words(html := page(ada_client, tournament))

    for one in kept.board["board"]["standings"]:
        assert f"{one['rating']['value']:.0f}" in said
        assert f"{one['rating']['low']:.0f} … {one['rating']['high']:.0f}".replace("-", "−") in said
    assert f"from {kept.votes} verdicts" in said
    assert kept.digest in html
    assert kept.board["board"]["sentences"][0] in said
    assert said.index("too narrow: take 20 or more") < said.index("Standings"), "before any number"
    for words_of_it in ("Standing first is worth", "Online Elo", "200 other orders", "shuffled with seed 123",
                        "Chance of each rank", "How far apart", "One more vote tells most between", "of 12",
                        "Log loss on held-out prompts", "3 people"):  # fmt: skip
        assert words_of_it in said, words_of_it


def test_its_figure_is_valid_and_its_words_say_who_leads_or_that_nothing_is_decided(
    ada_client: Client, tournament: Tournament
) -> None:
    voted(tournament)

    html = ada_client.get(f"/judging/{tournament.pk}/board/chart/?name=forest").content.decode()
    (figure,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    drawn = go.Figure(json.loads(figure))

    assert sum(len(trace.x) for trace in drawn.data) == 4
    assert "leads at" in html or "Nothing is decided" in html


@pytest.mark.parametrize(
    ("games", "sentence"),
    [
        ([], "No vote yet, so nothing is decided"),
        ([(0, 1, Outcome.A)], "runner 0 · step 0 · eval won every comparison"),
        ([(0, 1, Outcome.TIE), (2, 3, Outcome.TIE)], "No comparison joins these"),
        ([(0, k, out) for k in (1, 2, 3) for out in (Outcome.A,)] + [(1, 2, Outcome.TIE), (2, 3, Outcome.TIE)],
         "its rating has no upper bound, so it has none"),
    ],
)  # fmt: skip
def test_where_there_is_no_number_there_is_a_sentence(
    ada_client: Client, tournament: Tournament, games: list, sentence: str
) -> None:
    if games:
        cast(tournament, rubric("helpfulness"), told(("a", "b", "c", "d"), *games))
        work_through()

    said = words(page(ada_client, tournament))

    assert sentence in said
    assert "nan" not in said.lower()


def test_another_board_is_ordered_by_the_form_worked_out_by_the_job_and_has_an_address(
    ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    voted(tournament)
    monkeypatch.setattr(tasks.keep_boards, "delay", lambda: None)
    form = BoardSettings(ties="davidson", unit="annotator", level=0.8, anchor="runner 1 · step 0 · eval", prior=0.5)

    answer = ada_client.post(f"/judging/{tournament.pk}/board/order/?criterion=helpfulness", form.to_json())
    assert answer.status_code == 302
    waiting = words(ada_client.get(answer["Location"]).content.decode())
    assert "Waits its turn" in waiting
    tasks.keep_boards()
    fresh = ada_client.get(answer["Location"] + "&shown=", headers={"HX-Request": "true"})
    assert fresh["HX-Refresh"] == "true"

    said = words(ada_client.get(answer["Location"]).content.decode())
    assert "Davidson's strengths" in said
    assert "with runner 1 · step 0 · eval at 1000" in said
    assert "they lie on another scale than this board's" in said
    assert "80 %" in said.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "Every pair that met was given 0.5 wins each way" in said
    assert not BoardOrder.objects.filter(ended_at=None).exists()


def test_the_job_is_called_for_what_was_ordered(
    ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    voted(tournament)
    monkeypatch.setattr(tasks.keep_boards, "delay", tasks.keep_boards)

    answer = ada_client.post(
        f"/judging/{tournament.pk}/board/order/?criterion=helpfulness", BoardSettings(swap="tie").to_json()
    )

    assert boards.board_of(tournament, rubric("helpfulness"), BoardSettings(swap="tie")) is not None
    assert answer["Location"].endswith("?criterion=helpfulness&swap=tie")


BOARDS = ("", "chart/", "file/", "history/", "history/chart/")
UNKNOWN = {
    "criterion=nonsense": "criterion must be one of helpfulness, harmlessness, not 'nonsense'",
    "ties=sometimes": "ties must be one of half-win, davidson, not 'sometimes'",
    "level=2": "level must be a number from 0.5 to 0.999, not '2'",
    "anchor=me": "anchor must be one of runner 0",
}


@pytest.mark.parametrize("query", UNKNOWN)
@pytest.mark.parametrize("part", BOARDS)
def test_a_board_that_there_is_not_is_answered_with_those_there_are(
    ada_client: Client, tournament: Tournament, part: str, query: str
) -> None:
    answer = ada_client.get(f"/judging/{tournament.pk}/board/{part}?{query}")
    assert answer.status_code == 404
    assert UNKNOWN[query] in words(answer.content.decode())


def test_page_and_api_spell_criteria_alike(ada: User, ada_client: Client, tournament: Tournament) -> None:
    older = tournament.rubrics.select_related("criterion").order_by("pk").first()
    newer = Rubric.objects.create(criterion=older.criterion, version=older.version + 1, question="?", text="!")
    tournament.rubrics.add(newer)
    for name in (f"helpfulness v{older.version}", f"helpfulness v{newer.version}", "helpfulness", "harmlessness"):
        assert ada_client.get(f"/judging/{tournament.pk}/board/", {"criterion": name}).status_code == 200
        answer = calls(ada, "read").get(f"/api/v1/tournaments/{tournament.pk}/board", {"criterion": name})
        assert "has not been worked out" in str(answer.json()), "the board is that of the criterion, and not there yet"
    shown = page(ada_client, tournament)
    assert f"criterion=helpfulness+v{newer.version}" in shown and f"helpfulness v{newer.version}" in words(shown)


def test_an_order_that_cannot_be_is_refused(ada_client: Client, tournament: Tournament) -> None:
    refused = ada_client.post(f"/judging/{tournament.pk}/board/order/", BoardSettings(prior=-1).to_json())
    assert refused.status_code == 400


def test_newer_verdicts_are_counted_and_who_is_left_out_is_named_with_the_reason(
    ada: User, ada_client: Client, tournament: Tournament
) -> None:
    kept = voted(tournament)
    ruled(tournament, rubric("helpfulness"), judge=model_judge(ada, "strict"))
    ruled(tournament, rubric("helpfulness"))

    said = words(page(ada_client, tournament))

    assert "72 newer ones are not in it" in said
    assert "strict has not been held against people's verdicts by helpfulness v1." in said.replace("  ", " ")
    assert "rules, no model and no person" in said
    assert kept == boards.board_of(tournament, rubric("helpfulness"))


def test_what_is_shown_can_be_downloaded_and_is_the_board_by_its_hash(
    ada_client: Client, tournament: Tournament
) -> None:
    kept = voted(tournament)
    at = f"/judging/{tournament.pk}/board/file/"

    whole = ada_client.get(f"{at}?as=json")
    assert whole["Content-Disposition"].endswith('board.json"')
    assert whole.json()["hash"] == kept.digest == board(votes_in(tournament, rubric("helpfulness"))).hash
    assert whole.json()["from"] == [
        {"name": None, "kind": "people", "people": 3, "verdicts": kept.votes, "left_out": ""}
    ]
    rows = list(csv.DictReader(io.StringIO(ada_client.get(f"{at}?as=csv").content.decode())))
    assert [row["contestant"] for row in rows] == [one["contestant"] for one in kept.board["board"]["standings"]]
    assert float(rows[0]["rating value"]) == kept.board["board"]["standings"][0]["rating"]["value"]
    lengths = [len(ada_client.get(f"{at}?as=csv&table={name}").content.splitlines()) for name in ("pairs", "wins")]
    assert lengths == [1 + 6, 1 + 12]


def test_it_is_for_whoever_may_see_the_tournament_and_a_viewer_orders_nothing(
    ada_client: Client, bo: User, bo_client: Client, tournament: Tournament
) -> None:
    voted(tournament)
    give_role(bo, "viewer")

    assert "Standings" in page(bo_client, tournament)
    assert "Show this board" not in page(bo_client, tournament)
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
    tournament = make(ada, Draft(name="Steps", entries=entries, rubrics=[rubric("helpfulness")], prompts=12))
    voted(tournament)
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=1))
    Verdict.objects.filter(pk=Verdict.objects.latest("pk").pk).update(replaced_at=timezone.now())
    keep(tournament, rubric("helpfulness"))

    html = ada_client.get(f"/judging/{tournament.pk}/board/history/").content.decode()
    figures = [go.Figure(json.loads(one)) for one in re.findall(r'json">(.*?)</script>', html)]

    assert [len(one.data) for one in figures] == [2, 8], "a line and its band; of four contestants"
    assert list(figures[0].data[1].x) == [0, 10, 20]
    assert "climbs: " in html
    assert "2 boards were kept" in html
    table = ada_client.get(f"/judging/{tournament.pk}/board/history/chart/?name=steps&as=csv").content.decode()
    assert len(table.splitlines()) == 4


def test_it_asks_the_database_as_often_for_many_verdicts_as_for_few(
    ada: User, ada_client: Client, tournament: Tournament, django_assert_num_queries: object
) -> None:
    voted(tournament, 20)
    Calibration.objects.create(
        judge=ruled(tournament, rubric("helpfulness"), judge=model_judge(ada)), rubric=rubric("helpfulness"),
        gold_set=gold(ada), passes=True, measured={},
    )  # fmt: skip
    keep(tournament, rubric("helpfulness"))
    page(ada_client, tournament)

    with django_assert_num_queries(21):  # type: ignore[operator]
        page(ada_client, tournament)
    cast(tournament, rubric("harmlessness"), once(invented(300, contestants=4, prompts=12)))
    with django_assert_num_queries(21):  # type: ignore[operator]
        page(ada_client, tournament)


def test_names_are_cut_where_they_say_least() -> None:
    steps = [f"conciseness on facts, lr 3e-4 · step {k} · eval" for k in (0, 100)]

    assert [len(one) <= 24 for one in short(steps).values()] == [True, True]
    assert [one[-6:] for one in short(steps).values()] == ["step 0", "ep 100"]
    assert short(["a · eval", "b · train"]) == {"a · eval": "a · eval", "b · train": "b · train"}


def test_votes_are_counted_to_the_last_however_many_they_are() -> None:
    assert [count(number) for number in (0.0, 2.5, 1_234_567.0, 100_000.5)] == ["0", "2.5", "1234567", "100000.5"]


def test_the_list_of_tournaments_and_its_page_say_who_leads(ada_client: Client, tournament: Tournament) -> None:
    assert "Nothing decided yet: there is no board." in words(ada_client.get("/judging/").content.decode())
    kept = voted(tournament)

    first = kept.board["board"]["standings"][0]
    is_clear = first["ahead"]["by"]["low"] > 0
    for path in ("/judging/", f"/judging/{tournament.pk}/"):
        said = words(ada_client.get(path).content.decode())
        assert f"{first['contestant']} {'leads at' if is_clear else 'stands first, and its lead over'}" in said


def test_judgments_that_failed_are_counted_for_whom_they_were_about(ada_client: Client, tournament: Tournament) -> None:
    cast(tournament, rubric("helpfulness"), once(invented(150, contestants=4, prompts=12)))
    lost = list(Verdict.objects.filter(comparison__a__place=0).order_by("pk").values_list("pk", flat=True)[:3])
    Verdict.objects.filter(pk__in=lost).update(outcome="refused")

    kept = keep(tournament, rubric("helpfulness"))
    said = words(page(ada_client, tournament))

    assert kept.board["failed"][0] == 3
    assert sum(kept.board["failed"]) == 6
    assert "3 refused: they count for nobody, and are no ties" in said
    assert "Failed" in said
