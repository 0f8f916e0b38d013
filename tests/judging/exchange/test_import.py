"""Files of judgments become tournaments: every field is saved once, and missing fields are named."""

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
from judging.exchange import MB, File, ImportResult, ImportTarget, export_lines, import_judgment_files
from judging.exchange import ExportOptions as Written
from judging.exchange.participants import MAX_CONTESTANTS
from judging.judges import newest_rubrics
from judging.models import Comparison, Contestant, Criterion, Judge, JudgmentFile, Rubric, Tournament, Verdict
from judging.stats.ratings import Elo, RatingOptions, Resampling, compute_board, single_pass
from judging.stats.votes import Outcome, list_criteria, read_judgments, votes_by_criterion
from runs.models import Experiment, Import, Prompt
from tests.cases import each_case
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.published_votes import judgments_path, needs_data, published_elo
from tests.judging.tournament_factory import make_tournament
from tests.runs.attempt_records import make_run

pytestmark = pytest.mark.django_db
RATING_OPTIONS = RatingOptions(resampling=Resampling(resamples=50))
ROW = {"model_a": "ada-1", "model_b": "bo-2", "dimension": "help", "prompt_id": 3, "scores": [8, 4]}
LEFT = {"order_ab": ["ada-1", "bo-2"]}


def file(*rows: object, name: str = "votes.jsonl") -> File:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return File(name, io.BytesIO("\n".join(lines).encode("utf-8", "surrogatepass")))


def import_files(owner: User, *files: File, **options: object) -> ImportResult:
    return import_judgment_files(files, ImportTarget(owner, **options))  # type: ignore[arg-type]


def get_rubric(tournament: Tournament, name: str) -> Rubric:
    return tournament.rubrics.get(criterion__imported_as=name)


@needs_data
def test_the_published_judgments_give_the_published_elo_from_the_database(ada: User) -> None:
    path = judgments_path()
    with path.open("rb") as content:
        tournament = import_files(ada, File(path.name, content)).tournament
    assert tournament is not None and tournament.name == "judgments_numeric" and Verdict.objects.count() == 1000
    judgments = read_judgments(path.read_text(), path.name).judgments
    for name in list_criteria(judgments):
        votes, of_file = votes_in(tournament, get_rubric(tournament, name)), votes_by_criterion(judgments, name)
        anchor = votes.contestants.index("Alpaca-7B")
        elo = dict(zip(votes.contestants, single_pass(votes, Elo(k=32, shuffle=123), anchor), strict=True))
        same = single_pass(of_file, Elo(k=32, shuffle=123), of_file.contestants.index("Alpaca-7B"))
        expected = published_elo() if name == "helpfulness" else dict(zip(of_file.contestants, same, strict=True))
        assert elo == pytest.approx(expected, abs=1e-9)
        assert compute_board(votes, RATING_OPTIONS).hash == compute_board(of_file, RATING_OPTIONS).hash


def test_imported_judgment_is_saved_with_all_fields(ada: User) -> None:
    turned = ROW | {"model_a": "bo-2", "model_b": "ada-1", "order_ab": ["bo-2", "ada-1"], "judge": "gpt"}
    rows = [ROW | LEFT, turned | {"lengths": [30, 10], "category": "law"}, ROW | {"scores": None, "prompt_id": 4}]
    result = import_files(ada, file(*rows))
    first, other, unread = Verdict.objects.order_by("pk")
    assert (first.outcome, first.score_a, first.score_b, first.first) == ("a", 8, 4, "a")
    assert (other.outcome, other.score_a, other.score_b, other.first) == ("b", 4, 8, "b")
    assert (other.length_a, other.length_b, other.judge.name) == (10, 30, "gpt")  # type: ignore[union-attr]
    assert (unread.outcome, unread.score_a, unread.first) == ("unparsed", None, "")
    assert first.comparison == other.comparison and Comparison.objects.count() == 2
    assert first.judge.kind == Judge.Kind.IMPORTED and first.judge.name == "not named"  # type: ignore[union-attr]
    assert result.tournament is not None and not result.tournament.is_open
    assert result.sentence == "3 judgments read in votes: 3 new."


def test_repeated_import_adds_only_new_judgments(ada: User) -> None:
    rows = [
        ROW | LEFT,
        ROW | LEFT | {"scores": [8, 5]},
        ROW | {"winner": "tie", "judge": "eve", "judge_kind": "person"},
    ]
    import_files(ada, file(*rows))
    before = list(Verdict.objects.order_by("pk").values_list())
    again = import_files(ada, file(*rows))
    assert again.sentence == "3 judgments read in votes: 0 new; 3 already stored."
    assert list(Verdict.objects.order_by("pk").values_list()) == before and JudgmentFile.objects.count() == 1
    more = import_files(ada, file(*rows, ROW | {"prompt_id": 9, "model_b": "cy"}))
    assert more.sentence == "4 judgments read in votes: 1 new; 3 already stored." and not more.is_new
    assert list(Verdict.objects.order_by("pk").values_list())[:3] == before
    assert Tournament.objects.count() == 1 and Contestant.objects.count() == 3


def test_changed_judgment_replaces_earlier_verdict(ada: User) -> None:
    import_files(ada, file(ROW))
    result = import_files(ada, file(ROW | {"scores": [4, 8]}))
    assert result.sentence == "1 judgment read in votes: 0 new; 1 changed."
    assert [verdict.outcome for verdict in Verdict.objects.current()] == ["b"] and Verdict.objects.count() == 2


def test_invalid_rows_are_reported_with_lines(ada: User) -> None:
    result = import_files(ada, file(ROW, "{", "", ROW | {"winner": "left"}, ROW | {"prompt_id": "x"}, "\ud800")).files[
        0
    ]
    assert result.read == 2 and result.not_read == 3
    assert result.problems[0].startswith("votes.jsonl, line 2: is not JSON")
    assert result.problems[1].startswith(
        "votes.jsonl, line 4: has the unknown winner 'left'; known are model_a, model_b"
    )
    assert result.problems[2].startswith("votes.jsonl, line 6: is not UTF-8 text")
    saved = JudgmentFile.objects.get()
    assert (saved.read, saved.not_read, saved.problems) == (2, 3, result.problems)


def test_file_without_judgments_creates_no_tournament(ada: User) -> None:
    result = import_files(ada, file("[1, 2", name="x.json"), file(*["{}"] * 300, name="y.jsonl"))
    assert result.tournament is None and not Tournament.objects.exists() and not Criterion.objects.exists()
    assert len(result.files[1].problems) == 100 and result.files[1].not_read == 300
    assert result.sentence == "0 judgments read: 0 new; 301 invalid rows."


def test_repeated_rows_are_counted_as_duplicates(ada: User) -> None:
    rows = [ROW | {"prompt_id": n} for n in range(40)]
    turned_keys = [dict(reversed(row.items())) for row in rows]

    first = import_files(ada, file(*rows, *turned_keys))
    again = import_files(ada, file(*rows, *turned_keys, name="copy.jsonl"), into=first.tournament)

    assert first.sentence == "40 judgments read in votes: 40 new; 40 duplicates."
    assert first.files[0].repeated[0] == "votes.jsonl, line 41: is the same as votes.jsonl, line 1"
    assert again.sentence == "40 judgments read in votes: 0 new; 40 already stored; 40 duplicates."
    assert Verdict.objects.count() == 40


def test_judgments_of_one_pair_that_differ_are_no_duplicates(ada: User) -> None:
    rows = [ROW | LEFT, ROW | LEFT | {"scores": [4, 8]}, ROW | LEFT | {"tstamp": 1}, ROW | {"dimension": "harm"}]

    result = import_files(ada, file(*rows))

    assert result.sentence == "4 judgments read in votes: 4 new."
    assert result.tournament is not None
    written = list(export_lines(result.tournament, Written("fastchat")))
    again = import_files(ada, File("again.jsonl", io.BytesIO("".join(written).encode())))
    assert again.sentence == "4 judgments read in again: 4 new.", "what is written is read as it was"


@each_case("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
@each_case("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_packed_and_wide_files_are_read(ada: User, pack: Callable[[bytes], bytes], encoding: str) -> None:
    rows = "\r\n".join(json.dumps(ROW | {"prompt_id": f"é{n}"}, ensure_ascii=False) for n in range(3))
    whole = json.dumps([ROW | {"prompt_id": f"é{n}"} for n in range(4)])

    result = import_files(ada, File("votes.jsonl.gz", io.BytesIO(pack(rows.encode(encoding)))))
    more = import_files(ada, File("list.json", io.BytesIO(whole.encode(encoding))), into=result.tournament)

    assert result.sentence == "3 judgments read in votes: 3 new."
    assert more.sentence == "4 judgments read in votes: 1 new; 3 already stored."


def test_truncated_packed_file_is_read_to_its_break(ada: User) -> None:
    rows = [json.dumps(ROW | {"prompt_id": sha256(str(n).encode()).hexdigest()}) for n in range(200)]
    packed = gzip.compress("\n".join(rows).encode())

    (result,) = import_files(ada, File("cut.jsonl.gz", io.BytesIO(packed[: len(packed) // 2]))).files

    assert 50 < result.read < 150
    assert result.problems[-1].startswith("cut.jsonl.gz: cannot be decompressed to its end: ")


def test_packed_file_is_unpacked_up_to_a_limit(ada: User) -> None:
    # Spaces make few rows of many bytes.
    lines = [json.dumps(ROW | {"prompt_id": n}) + " " * 900 for n in range(3_000)]
    packed = gzip.compress("\n".join(lines).encode())

    (result,) = import_files(ada, File("much.gz", io.BytesIO(packed), max_unpacked_bytes=MB)).files

    assert 0 < result.read < 3_000
    assert result.problems[-1] == "much.gz: decompresses to more than 1 MB: the rest is not read"


def test_archive_of_several_files_is_refused(ada: User) -> None:
    tarred, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("votes.jsonl"))
    with zipfile.ZipFile(zipped, "w") as both:
        both.writestr("votes.jsonl", json.dumps(ROW))

    for content in (tarred, zipped):
        content.seek(0)
        result = import_files(ada, File("votes", content))
        assert result.is_empty and result.tournament is None
        assert result.files[0].problems == ["votes: is an archive of several files: import its files instead"]


def test_arena_json_list_is_imported(ada: User) -> None:
    rows = [{"model_a": "ada", "model_b": "bo", "winner": "tie (bothbad)", "judge": f"arena_{n}"} for n in range(3)]
    result = import_files(ada, File("arena.json", io.BytesIO(json.dumps(rows).encode())))
    assert (result.files[0].read, result.files[0].alone) == (3, 3)
    assert set(Verdict.objects.values_list("outcome", flat=True)) == {"both_bad"} and Comparison.objects.count() == 3


def test_judgments_without_prompts_are_recognized_in_copied_file(ada: User) -> None:
    rows = [{"model_a": "ada", "model_b": "bo", "winner": "model_a", "judge": "eve"}] * 2
    into = import_files(ada, file(*rows, name="march.jsonl")).tournament

    again = import_files(ada, file(*rows, rows[0], name="copy of march.jsonl"), into=into)

    assert again.sentence == "3 judgments read in march: 1 new; 2 already stored."
    assert Comparison.objects.count() == Verdict.objects.count() == 3


def test_prompts_are_identified_by_full_text(ada: User) -> None:
    long = "why? \x00 " * 100
    rows = [ROW | {"prompt_id": long}, ROW | {"prompt_id": long + "!"}]
    import_files(ada, file(*rows))
    assert import_files(ada, file(*rows)).sentence.endswith("0 new; 2 already stored.")
    assert Prompt.objects.count() == 2 and Comparison.objects.count() == 2


def test_contestant_is_linked_to_unambiguous_imported_run(ada: User, experiment: Experiment) -> None:
    for name in ("ada-1", "bo-2", "bo-2"):
        run = make_run(experiment, name)
        Import.objects.create(run=run, kind="report", name=name, sha256=run.uid, bytes=1, part=0)
    import_files(ada, file(ROW))
    assert [contestant.run and contestant.run.name for contestant in Contestant.objects.order_by("place")] == [
        "ada-1",
        None,
    ]


def test_import_into_tournament_accepts_only_its_pairs(ada: User, experiment: Experiment) -> None:
    into = make_tournament(ada, experiment, prompts=2, contestants=2)
    a, b = into.contestants.values_list("name", flat=True)
    row = {"model_a": a, "model_b": b, "dimension": "helpfulness", "winner": "model_a", "prompt_id": "What is 1?"}
    result = import_files(
        ada,
        file(
            row, row | {"prompt_id": "What is 7?"}, row | {"model_b": "cy"}, row | {"dimension": "wit"},
        ),
        into=into,
    )  # fmt: skip
    verdict = Verdict.objects.get()
    assert verdict.comparison.prompt.prompt.text == "What is 1?" and into.contestants.count() == 2  # type: ignore[union-attr]
    assert [problem.split(": ", 1)[1] for problem in result.files[0].problems] == [
        f"is about 'cy'; the contestants are {a!r}, {b!r}",
        "is by 'wit'; the criteria are 'helpfulness', 'harmlessness'",
        "is on prompt 'What is 7?', on which these two contestants did not meet",
    ]


def test_import_refuses_verdicts_of_local_judges(ada: User, experiment: Experiment) -> None:
    into = make_tournament(ada, experiment, prompts=1, contestants=2)
    add_judge_verdicts(into, into.rubrics.get(criterion__slug="helpfulness"))
    written = "".join(export_lines(into, Written("fastchat")))
    result = import_files(ada, File("own.jsonl", io.BytesIO(written.encode())), into=into).files[0]
    assert (result.read, result.not_read) == (0, 1) and Verdict.objects.count() == 1
    assert "is by 'Rules (form alone)', whose verdicts are given on this site and not imported" in result.problems[0]


def test_import_limits_contestants(ada: User) -> None:
    rows = [ROW | {"model_b": f"m{n}"} for n in range(MAX_CONTESTANTS + 3)]
    result = import_files(ada, file(*rows)).files[0]
    assert result.not_read == 4 and "at most 200 contestants" in result.problems[0]
    assert Contestant.objects.count() == MAX_CONTESTANTS


def test_failed_outcomes_are_imported_unchanged(ada: User) -> None:
    words = {"refused": Outcome.REFUSED, "error": Outcome.ERROR, "unparsed": Outcome.UNPARSED}
    import_files(ada, file(*(ROW | {"winner": word, "prompt_id": word} for word in words)))
    assert set(Verdict.objects.values_list("outcome", flat=True)) == set(words)


def test_public_import_publishes_private_criterion_and_judge(ada: User) -> None:
    import_files(ada, file(ROW), is_private=True)
    assert Criterion.objects.get().is_private and Judge.objects.get().is_private
    import_files(ada, file(ROW), name="public")
    assert not Criterion.objects.get().is_private and not Judge.objects.get().is_private


def test_imported_criterion_is_not_offered_for_judging(ada: User) -> None:
    import_files(ada, file(ROW, ROW | {"dimension": "Help!"}))
    slugs = set(Criterion.objects.exclude(imported_as="").values_list("slug", flat=True))
    assert slugs == {"help-imported", "help-imported-2"} and not newest_rubrics(ada).exists()
