"""The pages of judgment files: upload, report and export; voters' names only for the owner."""

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

from judging.boards import save_board
from judging.models import JudgmentFile, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import KEY, JudgeServer
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db
ROW = {"model_a": "ada-1", "model_b": "<b>bo</b>", "dimension": "help", "prompt_id": 3, "scores": [8.0, 4.0]}
PERSON = {"judge": "Secret Name", "judge_kind": "person"}


def upload(client: Client, *rows: object, **fields: object) -> str:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    sent = {"files": SimpleUploadedFile("mine.jsonl", text.encode()), **fields}
    return client.post(reverse("judgments-import"), sent).content.decode()


def read_stream(answer: StreamingHttpResponse) -> str:
    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(pieces)().decode()


def test_uploaded_judgments_become_tournament(ada_client: Client) -> None:
    page = upload(ada_client, ROW, "{", name="Paper")
    tournament = Tournament.objects.get()
    assert "1 judgment read in Paper: 1 new; 1 invalid row." in page
    assert "mine.jsonl, line 2: is not JSON" in page and tournament.get_absolute_url() in page
    digest = save_board(tournament, tournament.rubrics.get()).digest
    files_page = ada_client.get(reverse("tournament-files", args=[tournament.pk])).content.decode()
    assert (
        digest in files_page and "Imported, not calibrated here" in files_page and "line 2: is not JSON" in files_page
    )
    opened = ada_client.get(tournament.get_absolute_url()).content.decode()
    assert "&lt;b&gt;bo&lt;/b&gt;" in opened and reverse("tournament-files", args=[tournament.pk]) in opened
    assert 'value="Paper"' in ada_client.get(reverse("judgments-import")).content.decode()


def test_empty_or_oversized_upload_is_refused(ada_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ada_client.post(reverse("judgments-import"), {"name": "x"})
    assert answer.status_code == 400 and "Choose at least one file." in answer.content.decode()
    monkeypatch.setattr("judging.exchange.views.MAX_UPLOAD_BYTES", 10)
    assert "At most 20 files and 0 MB per upload" in upload(ada_client, ROW) and not Tournament.objects.exists()


def test_upload_without_judgments_is_refused_and_names_the_formats(ada_client: Client) -> None:
    upload = SimpleUploadedFile("x.jsonl", b"{}")
    answer = ada_client.post(reverse("judgments-import"), {"files": upload})
    page = answer.content.decode()
    assert answer.status_code == 400 and "Nothing was imported." in page
    assert "Judgments are read as JSON lines or one JSON list" in page and "has neither scores nor winner" in page


def test_packed_upload_reports_duplicates(ada_client: Client) -> None:
    packed = gzip.compress(f"{json.dumps(ROW)}\n{json.dumps(ROW)}".encode("utf-16"))
    answer = ada_client.post(reverse("judgments-import"), {"files": SimpleUploadedFile("x.jsonl.gz", packed)})
    page = answer.content.decode()
    assert answer.status_code == 200 and "1 duplicate: it repeats an earlier row and is not counted" in page
    assert "x.jsonl.gz, line 2: is the same as x.jsonl.gz, line 1" in page


def test_tournament_is_exported_in_each_format(ada_client: Client, bo_client: Client) -> None:
    upload(ada_client, ROW, ROW | PERSON)
    tournament = Tournament.objects.get()
    for form, holds in (("fastchat", '"winner": "model_a"'), ("published", '"scores": [8.0, 4.0]'), ("csv", "ada-1")):
        answer = bo_client.get(reverse("tournament-file", args=[tournament.pk, form]))
        text = read_stream(answer)  # type: ignore[arg-type]
        assert holds in text and "Secret" not in text and "attachment" in answer["Content-Disposition"]
    named = reverse("tournament-file", args=[tournament.pk, "fastchat"]) + "?names=1"
    assert bo_client.get(named).status_code == 403
    assert "Secret Name" in read_stream(ada_client.get(named))  # type: ignore[arg-type]
    assert ada_client.get(reverse("tournament-file", args=[tournament.pk, "xml"])).status_code == 404
    Verdict.objects.update(score_a=None)
    assert bo_client.get(reverse("tournament-file", args=[tournament.pk, "published"])).status_code == 400
    page = bo_client.get(reverse("tournament-files", args=[tournament.pk])).content.decode()
    assert "2 verdicts have a winner but no scores" in page


def test_open_tournament_is_exported_only_by_owner(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, prompts=1)
    address = reverse("tournament-file", args=[tournament.pk, "csv"])
    assert bo_client.get(address).status_code == 403 and ada_client.get(address).status_code == 200
    page = bo_client.get(reverse("tournament-files", args=[tournament.pk])).content.decode()
    assert "only its owner can read the verdicts" in page and address not in page


def test_transcript_download_holds_requests_without_key(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    with JudgeServer() as server:
        work_until_done(assign(make_judge(server, ada), tournament, list(tournament.rubrics.all())))
    address = reverse("tournament-file", args=[tournament.pk, "transcript"])
    assert bo_client.get(address).status_code == 403
    text = read_stream(ada_client.get(address))  # type: ignore[arg-type]
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 4 and KEY not in text
    assert {"sent", "raw", "parsed", "tokens_in", "cost", "answered_by"} <= lines[0].keys()
    assert "answer 0 to 0" in json.dumps(lines[0]["sent"])


def test_private_tournament_files_are_hidden(ada_client: Client, bo_client: Client) -> None:
    upload(ada_client, ROW, is_private="on")
    tournament = Tournament.objects.get()
    for name, args in (("tournament-files", []), ("tournament-file", ["fastchat"])):
        assert bo_client.get(reverse(name, args=[tournament.pk, *args])).status_code == 404


def test_files_page_query_count_is_constant(
    ada: User, ada_client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    upload(ada_client, ROW)
    tournament = Tournament.objects.get()
    address = reverse("tournament-files", args=[tournament.pk])
    ada_client.get(address)
    with django_assert_num_queries(30, exact=False) as few:
        ada_client.get(address)
    counts = {"read": 1, "made": 1, "changed": 0, "alone": 0, "not_read": 0}
    JudgmentFile.objects.bulk_create(
        JudgmentFile(tournament=tournament, name="f", sha256=f"{n}", by=ada, **counts) for n in range(60)
    )
    with django_assert_num_queries(len(few)):
        ada_client.get(address)
