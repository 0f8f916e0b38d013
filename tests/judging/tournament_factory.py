"""Tournaments for tests: runs with answers, written in bulk, and contestants from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from django.contrib.auth.models import User

from judging.models import Criterion, GoldPair, GoldSet, Rubric, Tournament
from judging.tournaments import Entry, create_tournament
from runs.models import Attempt, Cluster, Experiment, Prompt, Response, Run


def answered_run(experiment: Experiment, name: str, texts: Sequence[str], step: int = 0) -> Run:
    """Return a run with these answers, one to each of the prompts `What is <k>?`."""
    (run,) = answered_runs(experiment, {name: texts}, step)
    return run


def answered_runs(experiment: Experiment, answers: Mapping[str, Sequence[str]], step: int = 0) -> list[Run]:
    """Return a run for each name, which gave these answers to the prompts `What is <k>?`. A few queries in all."""
    local, _ = Cluster.objects.get_or_create(name="local", defaults={"kind": "local"})
    runs = Run.objects.bulk_create(
        Run(
            experiment=experiment, name=name, method="es", seed=0, config={"method": "es", "seed": 0, "es": {}},
            created_by=experiment.owner,
        )
        for name in answers
    )  # fmt: skip
    attempts = Attempt.objects.bulk_create(
        Attempt(run=run, n=1, key=f"esweb-{run.uid}-a1", cluster=local, state="succeeded") for run in runs
    )
    words = [f"What is {k}?" for k in range(max(map(len, answers.values())))]
    new_prompts = [Prompt(name=word, digest=sha256(word.encode()).hexdigest(), text=word) for word in words]
    Prompt.objects.bulk_create(new_prompts, ignore_conflicts=True)
    prompts = {prompt.text: prompt for prompt in Prompt.objects.filter(text__in=words)}
    Response.objects.bulk_create(
        Response(
            run=attempt.run, attempt=attempt, epoch=1, seq=k, step=step, split="eval", prompt=prompts[words[k]],
            sample=0, text=text, tokens=3, reward=0.0,
        )
        for attempt, texts in zip(attempts, answers.values(), strict=True)
        for k, text in enumerate(texts)
    )  # fmt: skip
    return runs


def rubric(slug: str, owner: User | None = None) -> Rubric:
    """Return the newest version of a criterion's rubric; create the first if there is none."""
    criterion, _ = Criterion.objects.get_or_create(slug=slug, defaults={"owner": owner})
    newest = criterion.newest()
    return newest or Rubric.objects.create(criterion=criterion, version=1, question=f"Which is more {slug}?", text=slug)


def make_tournament(
    owner: User, experiment: Experiment, *, prompts: int = 4, contestants: int = 3, **settings: object
) -> Tournament:
    """Create a tournament by two criteria, of runs whose answers do not reveal their author."""
    answers = {f"runner {k}": [f"answer {k} to {n}" for n in range(prompts)] for k in range(contestants)}
    runs = answered_runs(experiment, answers)
    rubrics = [rubric("helpfulness"), rubric("harmlessness")]
    entries = [Entry(run, 0, "eval") for run in runs]
    new = Tournament(owner=owner, **{"name": "Which is better?", "seed": 7} | settings)
    return create_tournament(new, entries, rubrics, prompts)


def make_gold_set(owner: User, count: int = 4) -> GoldSet:
    """Create a gold set whose better answer is always a."""
    gold_set = GoldSet.objects.create(name="gold", owner=owner)
    GoldPair.objects.bulk_create(
        GoldPair(
            gold_set=gold_set, place=k, prompt=f"gold {k}?", text_a="good", text_b="bad", expected={"helpfulness": "a"}
        )
        for k in range(count)
    )
    return gold_set
