"""Results that `workers.evaluation.alignment` writes are imported unchanged, number by number."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from runs import importing, metrics
from runs.importing import ImportTarget
from runs.models import Response, Run
from workers.evaluation.alignment import ScoredAnswer, write

pytestmark = pytest.mark.usefixtures("runs_dir")
ANSWERS = [ScoredAnswer(f"prompt {i % 3}", f"answer\n{i}", i / 7 - 0.5, 1.5 - i / 3) for i in range(9)]


def test_written_results_are_imported_unchanged(ada: User, tmp_path: Path) -> None:
    write(tmp_path / "out", "ES-40", ANSWERS, 0.5, {"policy_model_path": "step-000040", "num_iterations": 40})
    with ExitStack() as stack:
        imported = importing.import_runs(
            importing.files_from_path(tmp_path / "out", stack), ImportTarget(ada, "Imported")
        )
    assert not imported.refused
    assert not any(outcome.report.remarks for outcome in imported.outcomes)

    run = Run.objects.get(name="ES-40")
    responses = Response.objects.filter(run=run).order_by("prompt__row").select_related("prompt")
    assert [(response.prompt.text, response.text) for response in responses] == [
        (a.prompt, a.response) for a in ANSWERS
    ]
    assert [response.cost for response in responses] == pytest.approx([a.cost for a in ANSWERS])
    assert {response.step for response in responses} == {40}
    assert metrics.latest([run])[run.pk]["safety/safe_ratio"] == pytest.approx(4 / 9)
