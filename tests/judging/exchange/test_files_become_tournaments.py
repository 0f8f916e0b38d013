"""Files of judgments become tournaments: everything they say is kept, once, and what they do not say is named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256

import pytest
from django.contrib.auth.models import User

from judging.boards import votes_in
from judging.exchange import MB, File, ImportResult, ImportTarget, bring_in, lines
from judging.exchange import ExportOptions as Written
from judging.exchange.participants import CONTESTANTS_AT_MOST
from judging.judges import newest_rubrics
from judging.models import Comparison, Contestant, Criterion, Judge, JudgmentFile, Rubric, Tournament, Verdict
from judging.stats.ratings import Elo, RatingOptions, Resampling, board, single_pass
from judging.stats.votes import Outcome, criteria, read, votes_of
from runs.models import Experiment, Import, Prompt
from tests.judging.bulk_verdicts import ruled
from tests.judging.published_votes import judgments_path, needs_data, published_elo
from tests.judging.tournament_factory import held
from tests.runs.attempt_records import make_run

pytestmark = pytest.mark.django_db
ASKED = RatingOptions(resampling=Resampling(resamples=50))
ROW = {"model_a": "ada-1", "model_b": "bo-2", "dimension": "help", "prompt_id": 3, "scores": [8, 4]}
LEFT = {"order_ab": ["ada-1", "bo-2"]}


def file(*rows: object, name: str = "votes.jsonl") -> File:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in rows)
    return File(name, io.BytesIO("\n".join(lines).encode("utf-8", "surrogatepass")))


def brought(owner: User, *files: File, **place: object) -> ImportResult:
    return bring_in(files, ImportTarget(owner, **place))  # type: ignore[arg-type]


def the_rubric(tournament: Tournament, name: str) -> Rubric:
    return tournament.rubrics.get(criterion__imported_as=name)


@needs_data
def test_the_published_judgments_give_the_published_elo_from_the_database(ada: User) -> None:
    path = judgments_path()
    with path.open("rb") as content:
        made = brought(ada, File(path.name, content)).tournament
    assert made is not None and made.name == "judgments_numeric" and Verdict.objects.count() == 1000
    judgments = read(path.read_text(), path.name).judgments
    for name in criteria(judgments):
        found, of_file = votes_in(made, the_rubric(made, name)), votes_of(judgments, name)
        anchor = found.contestants.index("Alpaca-7B")
        elo = dict(zip(found.contestants, single_pass(found, Elo(k=32, shuffle=123), anchor), strict=True))
        same = single_pass(of_file, Elo(k=32, shuffle=123), of_file.contestants.index("Alpaca-7B"))
        expected = published_elo() if name == "helpfulness" else dict(zip(of_file.contestants, same, strict=True))
        assert elo == pytest.approx(expected, abs=1e-9)
        assert board(found, ASKED).hash == board(of_file, ASKED).hash


def test_a_judgment_is_kept_with_all_that_it_says_from_the_first_contestants_side(ada: User) -> None:
    turned = ROW | {"model_a": "bo-2", "model_b": "ada-1", "order_ab": ["bo-2", "ada-1"], "judge": "gpt"}
    rows = [ROW | LEFT, turned | {"lengths": [30, 10], "category": "law"}, ROW | {"scores": None, "prompt_id": 4}]
    told = brought(ada, file(*rows))
    first, other, unread = Verdict.objects.order_by("pk")
    assert (first.outcome, first.score_a, first.score_b, first.first) == ("a", 8, 4, "a")
    assert (other.outcome, other.score_a, other.score_b, other.first) == ("b", 4, 8, "b")
    assert (other.length_a, other.length_b, other.judge.name) == (10, 30, "gpt")  # type: ignore[union-attr]
    assert (unread.outcome, unread.score_a, unread.first) == ("unparsed", None, "")
    assert first.comparison == other.comparison and Comparison.objects.count() == 2
    assert first.judge.kind == Judge.Kind.IMPORTED and first.judge.name == "not named"  # type: ignore[union-attr]
    assert told.tournament is not None and not told.tournament.is_open
    assert told.sentence == "3 judgments read in votes: 3 new."


def test_the_same_file_twice_changes_nothing_and_one_that_went_on_adds_what_is_new(ada: User) -> None:
    rows = [
        ROW | LEFT,
        ROW | LEFT | {"scores": [8, 5]},
        ROW | {"winner": "tie", "judge": "eve", "judge_kind": "person"},
    ]
    brought(ada, file(*rows))
    before = list(Verdict.objects.order_by("pk").values_list())
    again = brought(ada, file(*rows))
    assert again.sentence == "3 judgments read in votes: 0 new; 3 known already."
    assert list(Verdict.objects.order_by("pk").values_list()) == before and JudgmentFile.objects.count() == 1
    more = brought(ada, file(*rows, ROW | {"prompt_id": 9, "model_b": "cy"}))
    assert more.sentence == "4 judgments read in votes: 1 new; 3 known already." and not more.is_new
    assert list(Verdict.objects.order_by("pk").values_list())[:3] == before
    assert Tournament.objects.count() == 1 and Contestant.objects.count() == 3


def test_a_judgment_that_says_something_else_now_takes_the_place_of_what_it_said(ada: User) -> None:
    brought(ada, file(ROW))
    told = brought(ada, file(ROW | {"scores": [4, 8]}))
    assert told.sentence == "1 judgment read in votes: 0 new; 1 changed."
    assert [one.outcome for one in Verdict.objects.current()] == ["b"] and Verdict.objects.count() == 2


def test_rows_that_are_none_are_named_with_their_lines_and_the_others_kept(ada: User) -> None:
    told = brought(ada, file(ROW, "{", "", ROW | {"winner": "left"}, ROW | {"prompt_id": "x"}, "\ud800")).files[0]
    assert told.read == 2 and told.not_read == 3
    assert told.problems[0].startswith("votes.jsonl, line 2: is not JSON")
    assert told.problems[1].startswith("votes.jsonl, line 4: has winner 'left'; it is one of model_a, model_b")
    assert told.problems[2].startswith("votes.jsonl, line 6: is not UTF-8 text")
    kept = JudgmentFile.objects.get()
    assert (kept.read, kept.not_read, kept.problems) == (2, 3, told.problems)


def test_a_file_without_judgments_makes_nothing(ada: User) -> None:
    told = brought(ada, file("[1, 2", name="x.json"), file(*["{}"] * 300, name="y.jsonl"))
    assert told.tournament is None and not Tournament.objects.exists() and not Criterion.objects.exists()
    assert len(told.files[1].problems) == 100 and told.files[1].not_read == 300
    assert told.sentence == "0 judgments read: 0 new; 301 rows not understood."


def test_rows_that_repeat_a_judgment_are_duplicates_and_no_judgments(ada: User) -> None:
    rows = [ROW | {"prompt_id": n} for n in range(40)]
    turned_keys = [dict(reversed(one.items())) for one in rows]

    first = brought(ada, file(*rows, *turned_keys))
    again = brought(ada, file(*rows, *turned_keys, name="copy.jsonl"), into=first.tournament)

    assert first.sentence == "40 judgments read in votes: 40 new; 40 duplicates."
    assert first.files[0].repeated[0] == "votes.jsonl, line 41: is the same as votes.jsonl, line 1"
    assert again.sentence == "40 judgments read in votes: 0 new; 40 known already; 40 duplicates."
    assert Verdict.objects.count() == 40


def test_judgments_of_one_pair_that_differ_are_no_duplicates(ada: User) -> None:
    rows = [ROW | LEFT, ROW | LEFT | {"scores": [4, 8]}, ROW | LEFT | {"tstamp": 1}, ROW | {"dimension": "harm"}]

    made = brought(ada, file(*rows))

    assert made.sentence == "4 judgments read in votes: 4 new."
    assert made.tournament is not None
    written = list(lines(made.tournament, Written("fastchat")))
    again = brought(ada, File("again.jsonl", io.BytesIO("".join(written).encode())))
    assert again.sentence == "4 judgments read in again: 4 new.", "what is written is read as it was"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_packed_and_wide_files_are_read(ada: User, pack: Callable[[bytes], bytes], encoding: str) -> None:
    rows = "\r\n".join(json.dumps(ROW | {"prompt_id": f"é{n}"}, ensure_ascii=False) for n in range(3))
    whole = json.dumps([ROW | {"prompt_id": f"é{n}"} for n in range(4)])

    told = brought(ada, File("votes.jsonl.gz", io.BytesIO(pack(rows.encode(encoding)))))
    more = brought(ada, File("list.json", io.BytesIO(whole.encode(encoding))), into=told.tournament)

    assert told.sentence == "3 judgments read in votes: 3 new."
    assert more.sentence == "4 judgments read in votes: 1 new; 3 known already."


def test_packed_file_that_breaks_off_is_read_as_far_as_it_goes(ada: User) -> None:
    rows = [json.dumps(ROW | {"prompt_id": sha256(str(n).encode()).hexdigest()}) for n in range(200)]
    packed = gzip.compress("\n".join(rows).encode())

    (told,) = brought(ada, File("cut.jsonl.gz", io.BytesIO(packed[: len(packed) // 2]))).files

    assert 50 < told.read < 150
    assert told.problems[-1].startswith("cut.jsonl.gz: cannot be unpacked to its end: ")


def test_packed_file_is_unpacked_up_to_a_limit(ada: User) -> None:
    packed = gzip.compress("\n".join(json.dumps(ROW | {"prompt_id": n}) for n in range(30_000)).encode())

    (told,) = brought(ada, File("much.gz", io.BytesIO(packed), unpacked_at_most=MB)).files

    assert 0 < told.read < 30_000
    assert told.problems[-1] == "much.gz: unpacks to more than 1 MB: the rest is not read"


def test_archive_of_several_files_is_refused_in_a_sentence(ada: User) -> None:
    tarred, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("votes.jsonl"))
    with zipfile.ZipFile(zipped, "w") as both:
        both.writestr("votes.jsonl", json.dumps(ROW))

    for content in (tarred, zipped):
        content.seek(0)
        told = brought(ada, File("votes", content))
        assert told.is_empty and told.tournament is None
        assert told.files[0].problems == ["votes: is an archive of several files: import those"]


def test_one_json_list_is_read_as_arenas_publish_them(ada: User) -> None:
    rows = [{"model_a": "ada", "model_b": "bo", "winner": "tie (bothbad)", "judge": f"arena_{n}"} for n in range(3)]
    told = brought(ada, File("arena.json", io.BytesIO(json.dumps(rows).encode())))
    assert (told.files[0].read, told.files[0].alone) == (3, 3)
    assert set(Verdict.objects.values_list("outcome", flat=True)) == {"both_bad"} and Comparison.objects.count() == 3


def test_judgments_without_prompts_are_counted_once_under_whatever_name_they_come(ada: User) -> None:
    rows = [{"model_a": "ada", "model_b": "bo", "winner": "model_a", "judge": "eve"}] * 2
    into = brought(ada, file(*rows, name="march.jsonl")).tournament

    again = brought(ada, file(*rows, rows[0], name="copy of march.jsonl"), into=into)

    assert again.sentence == "3 judgments read in march: 1 new; 2 known already."
    assert Comparison.objects.count() == Verdict.objects.count() == 3


def test_a_prompt_is_named_by_its_text_however_long_and_odd(ada: User) -> None:
    long = "why? \x00 " * 100
    rows = [ROW | {"prompt_id": long}, ROW | {"prompt_id": long + "!"}]
    brought(ada, file(*rows))
    assert brought(ada, file(*rows)).sentence.endswith("0 new; 2 known already.")
    assert Prompt.objects.count() == 2 and Comparison.objects.count() == 2


def test_a_contestant_is_the_imported_run_of_its_name_where_that_is_clear(ada: User, experiment: Experiment) -> None:
    for name in ("ada-1", "bo-2", "bo-2"):
        run = make_run(experiment, name)
        Import.objects.create(run=run, kind="report", name=name, sha256=run.uid, bytes=1, part=0)
    brought(ada, file(ROW))
    assert [one.run and one.run.name for one in Contestant.objects.order_by("place")] == ["ada-1", None]


def test_a_tournament_of_answers_takes_judgments_of_its_own_pairs_alone(ada: User, experiment: Experiment) -> None:
    into = held(ada, experiment, prompts=2, contestants=2)
    a, b = into.contestants.values_list("name", flat=True)
    row = {"model_a": a, "model_b": b, "dimension": "helpfulness", "winner": "model_a", "prompt_id": "What is 1?"}
    told = brought(
        ada,
        file(
            row, row | {"prompt_id": "What is 7?"}, row | {"model_b": "cy"}, row | {"dimension": "wit"},
        ),
        into=into,
    )  # fmt: skip
    verdict = Verdict.objects.get()
    assert verdict.comparison.prompt.prompt.text == "What is 1?" and into.contestants.count() == 2  # type: ignore[union-attr]
    assert [one.split(": ", 1)[1] for one in told.files[0].problems] == [
        f"is about 'cy'; the contestants are {a!r}, {b!r}",
        "is by 'wit'; the criteria are 'helpfulness', 'harmlessness'",
        "is on prompt 'What is 7?', on which these two did not meet",
    ]


def test_who_judges_here_is_not_taken_from_a_file(ada: User, experiment: Experiment) -> None:
    into = held(ada, experiment, prompts=1, contestants=2)
    ruled(into, into.rubrics.get(criterion__slug="helpfulness"))
    written = "".join(lines(into, Written("fastchat")))
    told = brought(ada, File("own.jsonl", io.BytesIO(written.encode())), into=into).files[0]
    assert (told.read, told.not_read) == (0, 1) and Verdict.objects.count() == 1
    assert "is by 'Rules (form alone)', whose verdicts are given here and not taken from files" in told.problems[0]


def test_contestants_have_a_bound_that_is_said(ada: User) -> None:
    rows = [ROW | {"model_b": f"m{n}"} for n in range(CONTESTANTS_AT_MOST + 3)]
    told = brought(ada, file(*rows)).files[0]
    assert told.not_read == 4 and "one more than the 200 contestants" in told.problems[0]
    assert Contestant.objects.count() == CONTESTANTS_AT_MOST


def test_outcomes_that_are_no_verdicts_are_kept_as_what_they_are(ada: User) -> None:
    words = {"refused": Outcome.REFUSED, "error": Outcome.ERROR, "unparsed": Outcome.UNPARSED}
    brought(ada, file(*(ROW | {"winner": word, "prompt_id": word} for word in words)))
    assert set(Verdict.objects.values_list("outcome", flat=True)) == set(words)


def test_what_a_private_file_named_is_seen_once_a_public_one_names_it(ada: User) -> None:
    brought(ada, file(ROW), is_private=True)
    assert Criterion.objects.get().is_private and Judge.objects.get().is_private
    brought(ada, file(ROW), name="public")
    assert not Criterion.objects.get().is_private and not Judge.objects.get().is_private


def test_a_criterion_of_a_file_is_offered_to_nobody_who_judges(ada: User) -> None:
    brought(ada, file(ROW, ROW | {"dimension": "Help!"}))
    slugs = set(Criterion.objects.exclude(imported_as="").values_list("slug", flat=True))
    assert slugs == {"help-imported", "help-imported-2"} and not newest_rubrics(ada).exists()
