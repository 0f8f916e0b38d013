"""Every kind of record becomes its rows; what cannot be held is shown, what is beyond a limit is refused in words."""

import math

import pytest

from runs import metrics
from runs.ingest import delete_records, ingest, refusal
from runs.ingest.prompts import store_prompts
from runs.models import AttemptEvent, Checkpoint, EngineReport, Population, Prompt, Response, Series
from tests.cases import each_case
from tests.runs.attempt_records import NOON, answer, lines, make_attempt, make_run
from workers import records
from workers.records import Alert, Engine, Engines, Line, Member, Metric, Status

HOSTILE = "\x00<script>alert('x')</script>\ud800 ' ; DROP TABLE runs_run; --"
DISPLAYED = "\ufffd<script>alert('x')</script>\ufffd ' ; DROP TABLE runs_run; --"


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def engine(number=0, **fields):
    """Return a ready engine that has answered nothing yet."""
    values = {"state": "ready", "device": "cpu", "members": 0, "tokens": 0, "seconds": 0.0}
    return Engine(number, **(values | fields))


def keep(attempt, *written, epoch=0):
    return ingest(attempt, epoch, lines(written), offset=1)


def test_population_members_store_nan_and_infinities(attempt):
    keep(attempt, records.Population(3, (Member(7, -1.5, {"exact": 0.0}, 0.2), Member(8, math.nan, {}, None))))
    row = Population.objects.get()
    assert (row.run, row.attempt, row.step) == (attempt.run, attempt, 3)
    assert row.members[0] == {"seed": 7, "reward": -1.5, "parts": {"exact": 0.0}, "z": 0.2}
    assert row.members[1] == {"seed": 8, "reward": "NaN", "parts": {}, "z": None}


def test_population_members_store_their_engines(attempt):
    keep(attempt, records.Population(3, (Member(7, -1.5, engine=0), Member(8, -2.0, engine=12))))
    assert [member["engine"] for member in Population.objects.get().members] == [0, 12]


def test_engines_report_is_stored_once_with_its_time(attempt):
    first = Engine(0, "ready", "cuda:0", 15, 960, 1.5, 1, "ab" * 32, 3, "gpu7")
    report = Engines(3, 480, (first, engine(1, device=HOSTILE, node=HOSTILE)))
    assert [keep(attempt, report), keep(attempt, report)] == [1, 0]
    row = EngineReport.objects.get()
    assert (row.run, row.attempt, row.epoch, row.seq, row.step) == (attempt.run, attempt, 0, 0, 3)
    assert (row.t, row.bytes, len(row.engines)) == (NOON, 480, 2)
    assert row.engines[0] == {
        "number": 0, "state": "ready", "device": "cuda:0", "members": 15, "tokens": 960, "seconds": 1.5, "restarts": 1,
        "weights": "ab" * 32, "compared_at": 3, "node": "gpu7",
    }  # fmt: skip
    assert (row.engines[1]["device"], row.engines[1]["weights"], row.engines[1]["compared_at"]) == (DISPLAYED, "", None)
    assert row.engines[1]["node"] == DISPLAYED


def test_reports_of_engines_go_and_come_again_with_their_attempt(attempt):
    keep(attempt, Engines(3, 480, (engine(), engine(1))))
    delete_records(attempt.run)
    assert not EngineReport.objects.exists()
    keep(make_attempt(attempt.run), Engines(3, 480, (engine(), engine(1))))
    assert EngineReport.objects.count() == 1


def test_answer_is_stored_with_its_prompt(attempt):
    keep(attempt, answer(4, parts={"exact": 1.0}, kl=0.25, sample=2))
    row = Response.objects.select_related("prompt").get()
    assert (row.step, row.split, row.sample, row.text, row.tokens, row.reward) == (4, "eval", 2, "Madrid", 3, -1.0)
    assert (row.parts, row.kl) == ({"exact": 1.0}, 0.25)
    assert (row.prompt.name, row.prompt.text, row.prompt.target) == ("spain", "Capital of Spain?", "Madrid")


def test_runs_with_the_same_prompt_share_its_row(attempt):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    keep(attempt, answer())
    keep(other, answer(text="Barcelona"))
    assert Prompt.objects.count() == 1
    assert Prompt.objects.get().responses.count() == 2


def test_another_text_or_target_is_another_prompt(attempt):
    keep(attempt, answer(), answer(prompt="And of Spain?"), answer(target="madrid"))
    assert Prompt.objects.count() == 3


def test_a_prompt_gains_the_categories_that_any_run_names_and_loses_none(attempt):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    keep(attempt, answer())
    assert Prompt.objects.get().categories == []
    keep(other, answer(categories=("Spain",)), answer(1, categories=("capitals",)))
    assert Prompt.objects.get().categories == ["Spain", "capitals"]
    ingest(attempt, 0, lines([answer(1), answer(2, categories=("capitals", "Europe"))], first=1), offset=2)
    assert Prompt.objects.get().categories == ["Europe", "Spain", "capitals"]


def test_categories_known_already_write_nothing(attempt, django_assert_num_queries):
    keep(attempt, answer(categories=("capitals",)))
    answers = [answer(categories=("capitals",)), answer(1, prompt=None, target=None, categories=("unheard",))]
    with django_assert_num_queries(1):
        store_prompts(attempt.run_id, answers)
    assert Prompt.objects.get().categories == ["capitals"]


def test_answer_without_prompt_text_belongs_to_the_earlier_prompt(attempt):
    keep(attempt, answer(), answer(1, prompt=None, target=None))
    ingest(attempt, 0, lines([answer(2, prompt=None, target=None)], first=2))
    assert Prompt.objects.get().responses.count() == 3


def test_hostile_text_is_stored_as_text(attempt):
    text = HOSTILE + "x" * 1_000_000
    keep(
        attempt,
        answer(text=text, prompt_id=HOSTILE, prompt=HOSTILE, target=HOSTILE, split=HOSTILE[:10], parts={"\x00": 1.0}),
    )
    row = Response.objects.select_related("prompt").get()
    assert row.text == DISPLAYED + "x" * 1_000_000
    assert (row.prompt.name, row.prompt.text, row.prompt.target) == (DISPLAYED, DISPLAYED, DISPLAYED)
    assert (row.split, row.parts) == (DISPLAYED[:10], {"\ufffd": 1.0})


def test_halves_of_a_pair_are_joined_and_emoji_stay(attempt):
    keep(attempt, answer(text="\ud83d\ude00 é 😀"))
    assert Response.objects.get().text == "😀 é 😀"


def test_checkpoint_is_stored_with_its_digest(attempt):
    keep(attempt, records.Checkpoint(20, "checkpoints/step-000020", 123, "a" * 64))
    row = Checkpoint.objects.get()
    assert (row.step, row.path, row.bytes, row.sha256) == (20, "checkpoints/step-000020", 123, "a" * 64)


@each_case("path", ["/etc", "../../etc", "a/../../b", "", "a\x00b", "x" * 1001])
def test_a_checkpoint_outside_the_attempts_directory_is_refused(attempt, path):
    assert keep(attempt, records.Checkpoint(1, path, 1, "a" * 64)) == 0
    assert not Checkpoint.objects.exists()
    assert "a checkpoint's path" in AttemptEvent.objects.get().why


def test_the_newest_status_is_the_attempts_phase(attempt):
    keep(attempt, Status("loading"), Status("training", HOSTILE, 0.5))
    attempt.refresh_from_db()
    assert (attempt.phase, attempt.phase_message, attempt.progress) == ("training", DISPLAYED, 0.5)


def test_an_alert_is_an_event(attempt):
    keep(attempt, Alert("warning", "A dead iteration", 12), Alert("error", HOSTILE))
    assert [(e.level, e.why) for e in AttemptEvent.objects.order_by("pk")] == [
        ("warning", "Step 12: A dead iteration"),
        ("error", DISPLAYED),
    ]


def test_nan_and_infinities_do_not_hide_finite_values_in_summaries(attempt):
    keep(
        attempt, Metric(0, {"a": math.nan, "b": 1.0}), Metric(1, {"a": 2.0, "b": math.inf}), Metric(2, {"a": math.nan})
    )
    (curve,) = metrics.read([attempt.run], ["a"])
    assert str(list(map(float, curve.y))) == "[nan, 2.0, nan]"
    a, b = Series.objects.filter(run=attempt.run).order_by("key")
    assert (a.min_value, a.max_value, a.points, a.last_step) == (2.0, 2.0, 3, 2)
    assert math.isnan(a.last_value)
    assert (b.min_value, b.max_value, b.last_value) == (1.0, math.inf, math.inf)


def test_a_series_of_nothing_but_nan_has_no_extremes(attempt):
    keep(attempt, Metric(0, {"a": math.nan}))
    keep(attempt, Metric(1, {"a": math.nan}), epoch=1)
    summary = Series.objects.get(run=attempt.run)
    assert (summary.min_value, summary.max_value, summary.points) == (None, None, 2)


def test_a_metric_without_values_is_no_series_and_no_error(attempt):
    assert keep(attempt, Metric(0, {})) == 1
    assert metrics.keys(attempt.run) == []


def test_record_beyond_a_limit_is_reported_and_later_ones_stored(attempt):
    assert keep(attempt, Metric(0, {"k" * 251: 1.0}), Metric(1, {"good": 1.0})) == 1
    assert metrics.keys(attempt.run) == ["good"]
    assert "1 to 250 characters" in AttemptEvent.objects.get().why


@each_case(
    ("record", "message"),
    [
        (Metric(2**63, {"a": 1.0}), "64 bits"),
        (Metric(0, {"": 1.0}), "1 to 250 characters"),
        (Metric(0, {"a\x00b": 1.0}), "control characters"),
        (Metric(0, {"a": 1.0}, {"\ud800": 1.0}), "control characters"),
        (Metric(0, {str(i): 1.0 for i in range(10_001)}), "10001 keys; at most 10000"),
        (answer(split="x" * 21), "at most 20"),
        (answer(tokens=2**31), "tokens must be between 0 and 2147483647"),
        (answer(sample=-1), "sample must be between"),
        (answer(categories=("x" * 101,)), "a category must have 1 to 100 printable characters"),
        (answer(categories=("two\nlines",)), "a category must have 1 to 100 printable characters"),
        (answer(categories=tuple(map(str, range(33)))), "categories has 33 names; at most 32"),
        (records.Checkpoint(0, "a", -1, "a" * 64), "bytes must be between"),
        (records.Checkpoint(0, "a", 1, "A" * 64), "64 hexadecimal digits"),
        (Status("x" * 41), "at most 40"),
        (records.Population(0, (Member(0, 1.0, engine=-1),)), "engine must be between 0 and 2147483647, not -1"),
        (Engines(0, 0, tuple(map(engine, range(1025)))), "1025 engines; at most 1024"),
        (Engines(0, 0, (engine(1), engine(1))), "different numbers"),
        (Engines(0, -1, (engine(),)), "bytes must be between"),
        (Engines(0, 0, (engine(2**31),)), "number must be between"),
        (Engines(0, 0, (engine(members=-1),)), "members must be between"),
        (Engines(0, 0, (engine(seconds=math.nan),)), "seconds must be finite"),
        (Engines(0, 0, (engine(compared_at=2**63),)), "compared_at must fit 64 bits"),
        (Engines(0, 0, (engine(state="asleep"),)), "ready, starting, given_up, not 'asleep'"),
        (Engines(0, 0, (engine(weights="a" * 301),)), "weights has 301 characters; at most 300"),
        (Engines(0, 0, (engine(node="a" * 301),)), "node has 301 characters; at most 300"),
        (Alert("fatal", "x"), "info, warning, error"),
    ],
)
def test_a_limit_is_named(record, message):
    assert message in (refusal(Line(0, NOON, record)) or "")


def test_an_ordinary_record_is_not_refused():
    ours = (Metric(0, {"reward/mean": math.nan}), answer(), Status("training"), Engines(0, 0, (engine(),)))
    for record in (*ours, Alert("info", "x")):
        assert refusal(Line(0, NOON, record)) is None
