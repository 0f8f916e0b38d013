"""Files are imported in any order, one by one: the runs are the same, and a second time changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from runs import importing, metrics
from runs.importing import ImportTarget
from runs.models import Response, Run
from tests.cases import each_case
from tests.runs.importing.event_file_writer import event, scalar, write
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.runs.importing.test_documents import evaluation, seed, whole_evaluation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]
FAILURE = "Traceback (most recent call last):\nRuntimeError: no device\n"
TRAINED = {0: HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED,
           1: HEADER.format(seed=1) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED}  # fmt: skip
EVALUATED = json.dumps(evaluation(seed_results={"0": seed(-2.0), "1": seed(-4.0)}))
CUT = whole_evaluation()
REPORT = json.dumps([
    {"alpha": 0.0005, "sigma": 0.001, "aggregate_reward_mean": -3.0, "aggregate_reward_std": 1.0},
    {"alpha": 0.0005, "sigma": 0.01, "aggregate_reward_mean": -9.0, "aggregate_reward_std": 2.0},
])  # fmt: skip
HISTORY = [f'{{"loss": {i}.25, "step": {i}}}' for i in range(1, 5)]
ROWS = "step,loss,score\n1,0.5,2\n2,0.25,3\n3,0.125,\n"
TEXTS = {
    "early/seed0/run.log": TRAINED[0][: TRAINED[0].index("Iteration 3/4") + 20],
    "seed0/run.log": TRAINED[0],
    "failed/run.log": FAILURE,
    "requeued/run.log": FAILURE + TRAINED[1],
    "evals/es.json": EVALUATED,
    "evals/more/cut.json": CUT[: CUT.index('"2"') + 900],
    "evals/more/whole.json": CUT,
    "evals/report.json": REPORT,
    "out/checkpoint-2/trainer_state.json": f'{{"log_history": [{", ".join(HISTORY[:2])}], "max_steps": 4}}',
    "out/checkpoint-4/trainer_state.json": f'{{"log_history": [{", ".join(HISTORY)}], "max_steps": 4}}',
    "early/metrics.csv": ROWS[: ROWS.index("3,")],
    "metrics.csv": ROWS,
}
EVENTS = {"early/tb": 1, "late/tb": 2}
SOURCES = (*TEXTS, *EVENTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("order")
    for name, text in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, count in EVENTS.items():
        for i in range(1, count + 1):
            write(root / name / f"events.{i}", event(i, scalar("a", float(i)), at=1_700_000_000.0 + i))
    return root


def bring_in(root: Path, name: str, person: User) -> importing.ImportResult:
    """Import one file, or one folder of event files, under its path within the root."""
    path = root / name
    with ExitStack() as keep:
        if path.is_dir():
            files = importing.files_from_path(path, keep)
        else:
            files = importing.files_from_upload(keep.enter_context(path.open("rb")), path.stat().st_size, name, keep)
        return importing.import_runs(files, ImportTarget(person, "Imported"))


def state_of(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Return all that is known of the runs but the names of their files, in an order that depends on it alone."""
    return sorted((_facts_of(run) for run in runs), key=lambda facts: json.dumps(facts, sort_keys=True))


def _facts_of(run: Run) -> dict[str, Any]:
    answers = Response.objects.filter(run=run).order_by("split", "step", "prompt__text", "sample", "text", "reward")
    return {
        "kind": run.source.kind, "method": run.method, "seed": run.seed, "state": run.state, "config": run.config,
        "tags": run.tags, "preset": run.preset, "records": run.source.records, "part": run.source.part,
        "parent": None if run.parent is None else [run.parent.source.kind, run.parent.seed],
        "reasons": list(run.attempts.values_list("reason", flat=True)),
        "answers": list(map(list, answers.values_list("split", "step", "prompt__text", "sample", "text", "reward"))),
        "curves": [
            [curve.key, curve.x.tolist(), np.nan_to_num(curve.y, nan=1e99).tolist(), curve.overwritten.tolist()]
            for curve in metrics.read([run], metrics.keys(run))
        ],
    }  # fmt: skip


def import_files(root: Path, names: Iterable[str], person: User) -> list[dict[str, Any]]:
    for name in names:
        bring_in(root, name, person)
    remaining = Run.objects.filter(deleted_at=None)
    return state_of(remaining.select_related("source", "parent__source"))


@pytest.mark.parametrize("examples", [2, pytest.param(12, marks=pytest.mark.soak)])
def test_every_order_gives_the_same_runs_and_a_second_import_changes_nothing(ada, folder, examples):
    expected = import_files(folder, SOURCES, ada)
    kinds = [facts["kind"] for facts in expected]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "ES log": 2, "log of a job that failed": 1, "evaluation": 5, "report": 1, "trainer state": 1,
        "table of steps": 1, "TensorBoard events": 1,
    }  # fmt: skip
    joined = [(facts["seed"], facts["parent"]) for facts in expected if facts["kind"] == "evaluation"]
    assert sorted(joined, key=str) == [(0, ["ES log", 0])] * 2 + [(1, ["ES log", 1])] * 2 + [(2, None)]
    Run.objects.all().delete()

    # In the reverse order every two files are turned; the first generated order is the usual one.
    @settings(
        max_examples=examples, deadline=None, phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(order=st.permutations(SOURCES), again=st.permutations(SOURCES))
    @example(order=list(SOURCES[::-1]), again=list(SOURCES))
    def check(order: list[str], again: list[str]) -> None:
        with transaction.atomic():
            assert import_files(folder, order, ada) == expected
            before = list(Run.objects.order_by("pk").values())
            for name in again:
                once_more = bring_in(folder, name, ada)
                assert (once_more.new_runs, once_more.continued_runs, once_more.joined, once_more.replaced) == (
                    [],
                    [],
                    [],
                    [],
                ), name
            assert list(Run.objects.order_by("pk").values()) == before
            transaction.set_rollback(True)

    check()


def block(step: int) -> str:
    """Return the answers that a log prints at an evaluation."""
    numbered = [
        f"  [{i}/2] idx={i}\n    Prompt: {i}?\n    Target: {i} (len=1)\n    Generated: {i}\n\n{step} (len=3)\n"
        f"    Reward: -{i}.50\n\n"
        for i in (1, 2)
    ]
    head = f"[Eval] Iteration {step}: Mean -1.50  Min -2.00  Max -1.00  Std 0.50\n"
    return f"{head}[Eval Completions - Step {step}] (2 samples)\n{'-' * 80}\n{''.join(numbered)}{'-' * 80}\n"


STEPS = (iteration(1), iteration(2), block(2), iteration(3), iteration(4), block(4))
WHOLE = {"run.log": HEADER.format(seed=0) + "".join(STEPS) + ENDED, "evals.json": CUT}


@pytest.mark.parametrize("examples", [8, pytest.param(40, marks=pytest.mark.soak)])
@each_case("name", WHOLE)
def test_cut_copy_gives_the_same_in_any_order(ada, tmp_path, name, examples):
    whole, root = WHOLE[name].encode(), tmp_path / "published"
    (root / "copy").mkdir(parents=True)
    (root / name).write_bytes(whole)

    @settings(max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cut=st.integers(1, len(whole) - 1))
    def check(cut: int) -> None:
        (root / "copy" / name).write_bytes(whole[:cut])
        states = []
        for order in ((name, f"copy/{name}"), (f"copy/{name}", name)):
            with transaction.atomic():
                states.append(import_files(root, order, ada))
                transaction.set_rollback(True)
        assert states[0] == states[1], cut

    check()


def test_log_cut_in_an_evaluation_has_no_mean_over_it(ada, tmp_path):
    text = WHOLE["run.log"]
    (tmp_path / "run.log").write_text(text[: text.index("  [2/2]", text.index("Step 4"))])
    result = bring_in(tmp_path, "run.log", ada)
    (run,) = result.new_runs
    (curve,) = metrics.read([run], ["accuracy/contains"])
    assert curve.x.tolist() == [2.0]
    remark = "the evaluation at step 4: 1 of 2 responses are in the file: no mean is computed"
    assert remark in map(str, result.outcomes[0].report.remarks)
