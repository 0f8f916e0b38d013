"""Properties of an answer are stored with it by every writer: words, roles played, refusals and ends."""

import importlib
import math

import pytest
from django.db import ProgrammingError, connection

from runs.ingest import save_scores
from runs.ingest.response_rows import SUPERSEDE
from runs.models import Prompt, Response, Score
from tests.cases import each_case
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, make_run, record

LONG = "It is a city of many old and famous streets in which people have lived for more than a thousand years and"


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def store_answer(run, text="Madrid", **fields):
    record(run, [answer(0, text, **fields)])
    return Response.objects.latest("pk")


@each_case(("text", "words"), [("", 0), (" \n", 0), ("Madrid", 1), ("  a\n b\tc ", 3)])
def test_words_are_counted(run, text, words):
    assert store_answer(run, text).words == words


def test_answer_without_text_has_no_word_count(run):
    assert store_answer(run, "", parts={"no_text": 1.0, "cost": -2.5}).words is None
    assert Response.objects.get().cost == -2.5


@each_case(
    ("text", "leaks"),
    [
        ("Yes. USER: and then?", True), ("No.\nASSISTANT: I", True), ("ok<|im_start|>user", True),
        ("Yes.\nUser: why?", True), ("The user: a person", False), ("SUPERUSER: root", False), ("Madrid", False),
    ],
)  # fmt: skip
def test_answer_that_plays_another_role_is_leaking(run, text, leaks):
    assert store_answer(run, text).is_leaking is leaks


@each_case(
    ("text", "refuses"),
    [("I'm sorry, but no.", True), ("I’m sorry", True), ("I cannot help", True), ("As an AI language model", True),
     ("You cannot, I am sorry to say", False), ("Madrid", False)],
)  # fmt: skip
def test_refusals_are_recognised_by_their_opening(run, text, refuses):
    assert store_answer(run, text).is_refusal is refuses


def test_clipped_answer_is_truncated(run):
    assert store_answer(run, "Madrid.", parts={"clipped": 1.0}).is_truncated
    assert not store_answer(run, LONG).is_truncated


def test_unended_answer_without_token_count_is_truncated(run):
    assert store_answer(run, LONG, tokens=0).is_truncated
    assert not store_answer(run, f"{LONG} so.", tokens=0).is_truncated
    assert not store_answer(run, "Madrid", tokens=0).is_truncated


def test_answers_that_differ_in_spaces_and_capitals_have_one_key(run):
    keys = [store_answer(run, text).text_key for text in ("The  city", " the city\n", "The cities")]
    assert keys[0] == keys[1] != keys[2]


def test_prompts_that_are_rows_of_a_data_set_know_their_row(run):
    record(run, [answer(0, "a", prompt_id="17"), answer(0, "b", prompt_id="5"), answer(0, "c", prompt_id="x5")])
    assert dict(Prompt.objects.values_list("name", "row")) == {"17": 17, "5": 5, "x5": None}
    assert len(set(Prompt.objects.values_list("text_key", flat=True))) == 1


def test_after_a_resume_the_later_evaluation_holds_and_the_other_is_superseded(run):
    record(run, [answer(5, "Madrid"), answer(5, "x", sample=1), answer(10, "Lisbon")])
    end(run)
    make_attempt(run, n=2)
    record(run, [answer(5, "Toledo")])
    assert list(Response.objects.filter(is_superseded=True).values_list("text", flat=True)) == ["Madrid", "x"]


def test_later_scores_replace_earlier_ones_and_not_the_runs_own(run):
    response = store_answer(run)
    assert save_scores("beaver", [(response.pk, "reward", 0.5), (response.pk, "cost", -1.0)]) == 2
    save_scores("beaver", [(response.pk, "reward", 0.75)])
    save_scores("other", [(response.pk, "reward", 9.0)])
    assert dict(response.scores.filter(scorer="beaver").values_list("key", "value")) == {"reward": 0.75, "cost": -1.0}
    response.refresh_from_db()
    assert response.reward == -1.0


def test_score_that_is_not_a_number_is_refused(run):
    with pytest.raises(ValueError, match="beaver returned the reward nan"):
        save_scores("beaver", [(store_answer(run).pk, "reward", math.nan)])
    assert not Score.objects.exists()


@pytest.mark.django_db
def test_role_without_extension_rights_gets_instructions():
    trigrams = importlib.import_module("runs.migrations.0018_answers_beside_each_other").Trigrams()
    trigrams.name = "citext"
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE without_rights; SET ROLE without_rights")
    with pytest.raises(
        ProgrammingError, match=r"could not make .*Let an administrator .* CREATE EXTENSION pg_trgm; in"
    ):
        trigrams.database_forwards("runs", connection.schema_editor(), None, None)


def test_answers_are_ranked_once_though_the_table_was_thought_empty(run):
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_response")
        store_answer(run)
        cursor.execute(f"EXPLAIN {SUPERSEDE}", [run.pk, [0]])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "InitPlan" in plan
    assert "Join" not in plan.split("WindowAgg")[0]
