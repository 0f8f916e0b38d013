"""Every curl of the guide to judging by scripts is sent unchanged, in order, and succeeds."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from judging import boards
from judging.models import Judge
from runs.models import Experiment
from tests.judging.sample_tournament import count_from_one
from tests.judging.tournament_factory import answered_run
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db
GUIDE = Path(__file__).parents[3] / "docs/guides/judgments.md"
GOLD = b'{"prompt": "Why?", "response_a": "So.", "response_b": "No.", "expected": {"helpfulness": "a"}}\n'
LINE = b'{"model_a": "ES", "model_b": "GRPO", "dimension": "helpfulness", "prompt_id": 0, "scores": [8, 4]}\n'
LINES = {"files": LINE, "file": GOLD}


def commands(text: str) -> list[Namespace]:
    """The calls of curl in the guide's blocks."""
    parser = ArgumentParser()
    parser.add_argument("url")
    for flag in ("-X", "-d", "-o"):
        parser.add_argument(flag)
    for flag in ("-H", "-F"):
        parser.add_argument(flag, action="append", default=[])
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S)).replace("\\\n", " ")
    return [
        parser.parse_args(words[1:]) for words in (shlex.split(command) for command in re.split(r"\n(?=curl)", lines))
    ]


def send(client: Client, request: Namespace) -> HttpResponse:
    """Send the request as curl would."""
    path = request.url.removeprefix("$SITE")
    assert "Authorization: Bearer $TOKEN" in request.H
    if request.F:
        form = dict(part.split("=", 1) for part in request.F)
        (field,) = (name for name in form if form[name].startswith("@"))
        return client.post(path, form | {field: SimpleUploadedFile(form[field].lstrip("@"), LINES[field])})
    if request.d is None:
        return getattr(client, (request.X or "get").lower())(path)
    assert "Content-Type: application/json" in request.H
    return getattr(client, (request.X or "post").lower())(path, request.d, content_type="application/json")


def test_every_call_of_the_guide_is_answered_well(ada: User, experiment: Experiment) -> None:
    count_from_one()
    run, other = (answered_run(experiment, name, [f"{name} one"]) for name in ("es", "grpo"))
    Judge.objects.create(owner=ada, name="mine", model="m", base_url="http://localhost:9/v1", digest="0")
    text = GUIDE.read_text().replace('"RUN"', f'"{run.uid}"').replace('"OTHER"', f'"{other.uid}"')
    script, requests = calls(ada), commands(text)
    assert len(requests) == 22
    for request in requests:
        answer = send(script, request)
        assert answer.status_code in (200, 201, 202, 204), (request.url, answer.content)
        if answer.status_code == 202:
            assert boards.compute_due_boards()
