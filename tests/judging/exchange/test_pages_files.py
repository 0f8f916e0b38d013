"""The pages of judgments as files: dropped there, told of, and taken along; people's names for the owner alone."""

from __future__ import annotations

import gzip
import json

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from judging.boards import keep
from judging.models import JudgmentFile, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import KEY, JudgeServer
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db
ROW = {"model_a": "ada-1", "model_b": "<b>bo</b>", "dimension": "help", "prompt_id": 3, "scores": [8.0, 4.0]}
PERSON = {"judge": "Secret Name", "judge_kind": "person"}


def dropped(client: Client, *rows: object, **said: object) -> str:
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows)
    sent = {"files": SimpleUploadedFile("mine.jsonl", text.encode()), **said}
    return client.post(reverse("judgments-import"), sent).content.decode()


def downloaded(answer: StreamingHttpResponse) -> str:
    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(pieces)().decode()


def test_a_file_that_is_dropped_becomes_a_tournament_and_its_page_says_what_was_not_read(ada_client: Client) -> None:
    page = dropped(ada_client, ROW, "{", name="Paper")
    made = Tournament.objects.get()
    assert "1 judgment read in Paper: 1 new; 1 row not understood." in page
    assert "mine.jsonl, line 2: is not JSON" in page and made.get_absolute_url() in page
    digest = keep(made, made.rubrics.get()).digest
    shown = ada_client.get(reverse("tournament-files", args=[made.pk])).content.decode()
    assert digest in shown and "Imported, not calibrated here" in shown and "line 2: is not JSON" in shown
    opened = ada_client.get(made.get_absolute_url()).content.decode()
    assert "&lt;b&gt;bo&lt;/b&gt;" in opened and reverse("tournament-files", args=[made.pk]) in opened
    assert 'value="Paper"' in ada_client.get(reverse("judgments-import")).content.decode()


def test_too_much_or_nothing_is_refused_in_a_sentence(ada_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ada_client.post(reverse("judgments-import"), {"name": "x"})
    assert answer.status_code == 400 and "Choose at least one file." in answer.content.decode()
    monkeypatch.setattr("judging.exchange.views.UPLOAD_AT_MOST", 10)
    assert "At most 20 files and 0 MB at once" in dropped(ada_client, ROW) and not Tournament.objects.exists()


def test_upload_without_judgments_is_refused_and_names_the_formats(ada_client: Client) -> None:
    upload = SimpleUploadedFile("x.jsonl", b"{}")
    answer = ada_client.post(reverse("judgments-import"), {"files": upload})
    page = answer.content.decode()
    assert answer.status_code == 400 and "Nothing was imported." in page
    assert "Judgments are read as JSON lines or one JSON list" in page and "has neither scores nor winner" in page


def test_packed_upload_with_duplicates_says_so(ada_client: Client) -> None:
    packed = gzip.compress(f"{json.dumps(ROW)}\n{json.dumps(ROW)}".encode("utf-16"))
    answer = ada_client.post(reverse("judgments-import"), {"files": SimpleUploadedFile("x.jsonl.gz", packed)})
    page = answer.content.decode()
    assert answer.status_code == 200 and "1 duplicate: it repeats an earlier row and is not counted" in page
    assert "x.jsonl.gz, line 2: is the same as x.jsonl.gz, line 1" in page


def test_a_tournament_is_taken_along_in_each_form(ada_client: Client, bo_client: Client) -> None:
    dropped(ada_client, ROW, ROW | PERSON)
    made = Tournament.objects.get()
    for form, holds in (("fastchat", '"winner": "model_a"'), ("published", '"scores": [8.0, 4.0]'), ("csv", "ada-1")):
        answer = bo_client.get(reverse("tournament-file", args=[made.pk, form]))
        text = downloaded(answer)  # type: ignore[arg-type]
        assert holds in text and "Secret" not in text and "attachment" in answer["Content-Disposition"]
    named = reverse("tournament-file", args=[made.pk, "fastchat"]) + "?names=1"
    assert bo_client.get(named).status_code == 403
    assert "Secret Name" in downloaded(ada_client.get(named))  # type: ignore[arg-type]
    assert ada_client.get(reverse("tournament-file", args=[made.pk, "xml"])).status_code == 404
    Verdict.objects.update(score_a=None)
    assert bo_client.get(reverse("tournament-file", args=[made.pk, "published"])).status_code == 400
    page = bo_client.get(reverse("tournament-files", args=[made.pk])).content.decode()
    assert "2 verdicts have a winner and no scores" in page


def test_while_it_takes_votes_only_its_owner_reads_what_others_said(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    made = held(ada, experiment, prompts=1)
    address = reverse("tournament-file", args=[made.pk, "csv"])
    assert bo_client.get(address).status_code == 403 and ada_client.get(address).status_code == 200
    page = bo_client.get(reverse("tournament-files", args=[made.pk])).content.decode()
    assert "only its owner reads what was said" in page and address not in page


def test_the_transcript_holds_what_was_sent_and_no_key(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    made = held(ada, experiment, prompts=1, contestants=2)
    with JudgeServer() as server:
        worked(on(judge_at(server, ada), made, list(made.rubrics.all())))
    address = reverse("tournament-file", args=[made.pk, "transcript"])
    assert bo_client.get(address).status_code == 403
    text = downloaded(ada_client.get(address))  # type: ignore[arg-type]
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 4 and KEY not in text
    assert {"sent", "raw", "parsed", "tokens_in", "cost", "answered_by"} <= lines[0].keys()
    assert "answer 0 to 0" in json.dumps(lines[0]["sent"])


def test_what_others_keep_private_is_not_there(ada_client: Client, bo_client: Client) -> None:
    dropped(ada_client, ROW, is_private="on")
    made = Tournament.objects.get()
    for name, args in (("tournament-files", []), ("tournament-file", ["fastchat"])):
        assert bo_client.get(reverse(name, args=[made.pk, *args])).status_code == 404


def test_the_page_asks_as_often_however_many_files(
    ada: User, ada_client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    dropped(ada_client, ROW)
    made = Tournament.objects.get()
    address = reverse("tournament-files", args=[made.pk])
    ada_client.get(address)
    with django_assert_num_queries(30, exact=False) as few:
        ada_client.get(address)
    counts = {"read": 1, "made": 1, "changed": 0, "alone": 0, "not_read": 0}
    JudgmentFile.objects.bulk_create(
        JudgmentFile(tournament=made, name="f", sha256=f"{n}", by=ada, **counts) for n in range(60)
    )
    with django_assert_num_queries(len(few)):
        ada_client.get(address)
