"""Evaluations of runs that train here, written through ingest as a trainer writes them: whole, or cut by a kill."""

from __future__ import annotations

from runs.models import Experiment, Run
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, make_run, record
from workers.config import RunConfig
from workers.records import Record, Response

PROMPTS, SAMPLES = 4, 1
WHOLE = PROMPTS * (1 + SAMPLES)


def make_planned_run(experiment: Experiment, prompts: int = PROMPTS, samples: int = SAMPLES, **fields: int) -> Run:
    """Create a run whose plan has this many prompts, each answered once greedily and `samples` times more."""
    run = make_run(experiment, **fields)
    config = run.config | {"evaluation": run.config["evaluation"] | {"prompts": prompts, "samples": samples}}
    run.config = RunConfig.from_json(config).to_json()
    run.save()
    return run


def answers(step: int, n: int = WHOLE, prompts: int = PROMPTS, text: str = "word {i}.{sample}") -> list[Response]:
    """Return the first `n` answers of an evaluation, in the trainer's order: greedy ones first, then each round."""
    order = [(i % prompts, i // prompts) for i in range(n)]
    return [
        answer(
            step, text.format(i=i, sample=sample), sample=sample, prompt_id=f"p{i}", prompt=f"Question {i}?",
            reward=-float(i), parts={"contains": float(i == 0)},
        )
        for i, sample in order
    ]  # fmt: skip


def write(run: Run, *evaluations: list[Response], state: str = "") -> Run:
    """Store the evaluations as written by the run's newest attempt, which then ends in `state`, if one is given."""
    records: list[Record] = [record for evaluation in evaluations for record in evaluation]
    record(run, records)
    if state:
        end(run, state)
        Run.objects.filter(pk=run.pk).update(state=state)
        run.state = state
    return run


def resume(run: Run) -> None:
    """Start the next attempt of a run that has ended."""
    newest = run.newest_attempt()
    assert newest is not None
    make_attempt(run, n=newest.n + 1)
    Run.objects.filter(pk=run.pk).update(state="running")
    run.state = "running"
