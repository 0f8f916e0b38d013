"""The commands of the guide label-responses.md, sent unchanged and in order, and its example in Python."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.models import Experiment, Label
from tests.guides.blocks import ROOT, read_blocks
from tests.judging.exchange.test_guide import commands
from tests.runs.api_client import calls
from tests.runs.labels.label_cases import make_set

SHELL, PYTHON = (
    next(block.text for block in read_blocks(ROOT / "docs/guides/label-responses.md") if block.language == language)
    for language in ("sh", "python")
)


@pytest.mark.django_db
def test_every_command_of_the_guide_succeeds(ada: User, experiment: Experiment) -> None:
    label_set, client, exported = make_set(experiment, readers=1), calls(ada), b""
    for command in commands(f"```sh\n{SHELL}```"):
        path = command.url.removeprefix("$SITE").replace("/experiments/1/", f"/experiments/{experiment.pk}/")
        path = path.replace("/label-sets/1", f"/label-sets/{label_set.pk}")
        if command.F:
            form = dict(part.split("=", 1) for part in command.F)
            reply = client.post(path, form | {"file": SimpleUploadedFile(form["file"].lstrip("@"), exported)})
        elif command.d:
            reply = client.post(path, command.d, content_type="application/json")
        else:
            reply = client.get(path)
        assert reply.status_code in (200, 201), (path, reply.content)
        if command.o:
            exported = b"".join(reply.streaming_content)
    assert list(Label.objects.values_list("verdict", flat=True).distinct()) == ["wrong"]
    assert exported.count(b"\n") == 2


def test_example_in_python_prints_the_agreement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(PYTHON, {})  # noqa: S102
    printed = capsys.readouterr().out
    assert printed.startswith("('reader-1', 'reader-2') 200") and "Counter({'wrong'" in printed
