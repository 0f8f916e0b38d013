"""An imported run with a part of its answers is labelled partial wherever it is displayed, and is in no mean."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Run
from tests.runs.api_client import calls
from tests.runs.importing.test_documents import whole_evaluation

pytestmark = pytest.mark.django_db
PART = "5 of 8 responses are in the file"


def bring(experiment: Experiment, folder: Path, text: str) -> str:
    (folder / "alpha0.0005_sigma0.001.json").write_text(text)
    out = StringIO()
    call_command("import", str(folder), experiment=experiment.name, owner=experiment.owner.username, stdout=out)
    return out.getvalue()


@pytest.fixture
def cut(experiment: Experiment, tmp_path: Path) -> tuple[Run, Run]:
    """Return a whole seed, and one of which five of eight responses are in the file."""
    text = whole_evaluation()
    second_question = text.index('"question_idx": 1', text.index('"1": {'))
    first_answer = text.index("}", text.index('"completion"', second_question))
    assert PART in bring(experiment, tmp_path, text[: first_answer + 1])
    whole, partial = Run.objects.order_by("seed")
    return whole, partial


def test_cut_evaluation_is_partial_on_every_page(ada_client: Client, cut: tuple[Run, Run]) -> None:
    whole, partial = cut
    assert (whole.state, partial.state) == ("succeeded", "partial")
    compare = f"{reverse('compare')}?run={whole.uid}&run={partial.uid}"
    for address in (partial.get_absolute_url(), partial.experiment.get_absolute_url(), compare):
        page = ada_client.get(address).content.decode()
        assert "◐</span>partial" in page and PART in page, address


def test_partial_run_is_left_out_of_means(ada_client: Client, cut: tuple[Run, Run]) -> None:
    page = ada_client.get(cut[1].experiment.get_absolute_url()).content.decode()
    assert f"1 run is partial and is left out of the means: {cut[1].name}." in page
    assert "(n = 1)" in page and "(n = 2)" not in page


def test_partial_runs_match_a_condition_on_their_state(ada: User, ada_client: Client, cut: tuple[Run, Run]) -> None:
    runs = calls(ada, "read").get("/api/v1/runs", {"state": "partial"}).json()["items"]
    assert [run["uid"] for run in runs] == [cut[1].uid]
    page = ada_client.get(cut[1].experiment.get_absolute_url(), {"q": "state=partial"}).content.decode()
    assert cut[1].uid in page


def test_whole_file_makes_the_run_whole(experiment: Experiment, cut: tuple[Run, Run], tmp_path: Path) -> None:
    bring(experiment, tmp_path, whole_evaluation())
    assert list(Run.objects.order_by("seed").values_list("seed", "state")) == [(n, "succeeded") for n in range(3)]


def test_table_of_groups_takes_means_over_whole_runs(ada_client: Client, cut: tuple[Run, Run]) -> None:
    Run.objects.update(preset="one")
    address = cut[1].experiment.get_absolute_url()
    page = ada_client.get(address, {"group": "preset"})
    ((row, mean),) = [(group.row, group.row.numbers["reward/mean"]) for group in page.context["table"].groups]
    assert (row.n, row.partial, mean.n, mean.mean) == (2, 1, 1, -1.0)
    assert "1 partial, in no mean" in page.content.decode()


def test_setting_of_partial_runs_alone_has_no_mean(ada_client: Client, cut: tuple[Run, Run]) -> None:
    partial = cut[1]
    page = ada_client.get(reverse("compare"), {"run": partial.uid, "baseline": partial.uid})
    ((_, entry),) = page.context["standings"]
    assert entry.is_baseline and all(cell.n == 0 for cell in entry.cells)
    assert "1 run is partial and is left out of the means" in page.content.decode()
