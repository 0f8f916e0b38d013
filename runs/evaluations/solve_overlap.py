"""Prompts that two evaluations share: those that both solve, that only one solves, and that neither solves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from django.db.models import Count, Min, Q
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext

from runs import kinds
from runs.evaluations.selection import section
from runs.models import EVALUATION, Prompt, Response, Run
from runs.tables import Column, Link, Note, NumberStyle, Table
from workers.analysis.mcnemar import mcnemar_p_value

Deciding: TypeAlias = Literal["samples", "greedy"]
SAMPLES: Deciding = "samples"
GREEDY: Deciding = "greedy"
IS_CORRECT = Q(parts__correct__gt=0)
"""Each response of an evaluation has the part `correct`: 1 if it is correct by the evaluation's rule, else 0."""
HAS_PART = Q(parts__has_key="correct")
MAX_PROMPT_LENGTH = 160
"""Characters of a prompt on a page."""


class NoSolveOverlap(Exception):
    """Two evaluations cannot be compared. The message is a translated sentence that gives the reason."""


@dataclass(frozen=True)
class CorrectCount:
    """The responses of an evaluation to a prompt: `correct` of `n`. sample: number of an example, a correct one if
    there is one."""

    correct: int
    n: int
    sample: int

    @property
    def is_solved(self) -> bool:
        """Return whether at least one response is correct."""
        return self.correct > 0

    @property
    def text(self) -> str:
        """Return text such as `3/64`."""
        return f"{self.correct}/{self.n}"


CountsByPrompt: TypeAlias = Mapping[int, Mapping[Deciding, CorrectCount]]
"""Prompt id -> counts of the samples, and of the greedy response."""


@dataclass(frozen=True)
class ComparedEvaluation:
    """One of two evaluations. n: lowest and highest number of responses per prompt that decide."""

    run: Run
    step: int
    n: tuple[int, int]

    @property
    def is_complete(self) -> bool:
        """Return whether all prompts have equally many responses."""
        return self.n[0] == self.n[1]

    @property
    def label(self) -> str:
        """Return text such as `k3m9x2p7qa@50`."""
        return f"{self.run.uid}@{self.step}"

    @property
    def title(self) -> str:
        """Return the run's name and the step, for a page."""
        return gettext("%(name)s, step %(step)s") % {"name": self.run.name, "step": self.step}

    def response_address(self, prompt: Prompt, count: CorrectCount) -> str:
        """Return the address of the page of the count's example."""
        address = reverse("viewer-response", args=[self.run.uid, self.step, prompt.word])
        return f"{address}?sample={count.sample}" if count.sample else address


@dataclass(frozen=True)
class SolvedPrompt:
    """A prompt that only one of two evaluations solves, with each one's responses."""

    prompt: Prompt
    first: CorrectCount
    second: CorrectCount


@dataclass(frozen=True)
class SolveOverlap:
    """Numbers of prompts that two evaluations share: n = both + only_first + only_second + neither.

    task: name of a prior task; empty for the own task. decided_by: `samples` if one correct sample solves a prompt,
    `greedy` if the greedy response decides, for both evaluations alike. p: exact two-sided McNemar test. prompts: those
    that only one solves; those of the first come first, each in the order of the data set.
    """

    first: ComparedEvaluation
    second: ComparedEvaluation
    task: str
    decided_by: Deciding
    n: int
    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    prompts: tuple[SolvedPrompt, ...]

    @property
    def rule(self) -> str:
        """Return the sentence that defines a solved prompt."""
        if self.decided_by == GREEDY:
            return gettext("A prompt is solved if its greedy response is correct.")
        return gettext("A prompt is solved if at least one sample is correct.")

    @property
    def cautions(self) -> list[str]:
        """Return sentences about differences between the evaluations that make their numbers hard to compare."""
        first, second = self.first, self.second
        sentences = [
            gettext("%(name)s has fewer responses to some prompts at step %(step)s: its evaluation is incomplete.")
            % {"name": side.run.name, "step": side.step}
            for side in (first, second)
            if not side.is_complete
        ]
        if first.n[1] != second.n[1]:
            sentences.append(
                gettext("The evaluations have %(first)s and %(second)s samples per prompt: more samples solve more.")
                % {"first": first.n[1], "second": second.n[1]}
            )
        if _correct_settings(first.run) != _correct_settings(second.run):
            sentences.append(gettext("The evaluations define a correct response differently (evaluate.correct)."))
        return sentences

    @property
    def counts_table(self) -> Table:
        """Return the numbers of prompts, by which evaluations solve them."""
        columns = (Column("by", gettext("Solved by"), str), Column("n", gettext("Prompts"), style=NumberStyle(str)))
        sides = ((self.first, self.only_first), (self.second, self.only_second))
        only = [((gettext("only %(name)s") % {"name": side.title}, Note(side.label)), n) for side, n in sides]
        return Table(columns, ((gettext("both"), self.both), *only, (gettext("neither"), self.neither)))

    @property
    def prompts_table(self) -> Table:
        """Return the prompts that only one evaluation solves, with a link to an example of each."""
        prompt = Column("prompt", gettext("Prompt that only one solves"), str)
        sides = (Column(side.label, head=(side.title, Note(side.label))) for side in (self.first, self.second))
        return Table((prompt, *sides), tuple(
            (
                Truncator(row.prompt.text or row.prompt.name).chars(MAX_PROMPT_LENGTH),
                Link(row.first.text, self.first.response_address(row.prompt, row.first)),
                Link(row.second.text, self.second.response_address(row.prompt, row.second)),
            )
            for row in self.prompts
        ))  # fmt: skip


def compare_solved(first: tuple[Run, int], second: tuple[Run, int], task: str = "") -> SolveOverlap:
    """Return which of their shared prompts two evaluations solve, each given as a run and a step. Raise NoSolveOverlap.

    task: name of a prior task of both; empty for each one's own task. Three queries. The caller checks that the user
    may see both runs.
    """
    counts = [_count_correct(run, step, task) for run, step in (first, second)]
    decided_by = SAMPLES if all(map(_has_samples, counts)) else GREEDY
    one, other = ({pk: row[decided_by] for pk, row in table.items()} for table in counts)
    shared = {pk for pk in one.keys() & other.keys() if one[pk].n and other[pk].n}
    if not shared:
        raise NoSolveOverlap(gettext("The two evaluations have no prompt in common."))
    both = sum(one[pk].is_solved and other[pk].is_solved for pk in shared)
    only_first = [pk for pk in shared if one[pk].is_solved and not other[pk].is_solved]
    only_second = [pk for pk in shared if other[pk].is_solved and not one[pk].is_solved]
    by_id = Prompt.objects.in_bulk([*only_first, *only_second])
    prompts = [
        SolvedPrompt(prompt, one[prompt.pk], other[prompt.pk])
        for ids in (only_first, only_second) for prompt in sorted((by_id[pk] for pk in ids), key=_data_set_order)
    ]  # fmt: skip
    return SolveOverlap(
        _evaluation(*first, one), _evaluation(*second, other), task, decided_by, n=len(shared), both=both,
        only_first=len(only_first), only_second=len(only_second),
        neither=len(shared) - both - len(only_first) - len(only_second),
        p=mcnemar_p_value(len(only_first), len(only_second)), prompts=tuple(prompts),
    )  # fmt: skip


def overlap_table(overlap: SolveOverlap) -> Table:
    """Return the prompts that only one of two evaluations solves, with each one's numbers of responses."""
    first, second = overlap.first.label, overlap.second.label
    columns = ("prompt", "text", "solved by", f"{first} correct", f"{first} n", f"{second} correct", f"{second} n")
    return Table(
        columns,
        tuple(
            (
                row.prompt.name, row.prompt.text, first if row.first.is_solved else second,
                row.first.correct, row.first.n, row.second.correct, row.second.n,
            )
            for row in overlap.prompts
        ),
    )  # fmt: skip


def overlap_notes(overlap: SolveOverlap) -> list[str]:
    """Return the lines that state the numbers of prompts, for the comment of a LaTeX table."""
    return [
        f"Prompts that {overlap.first.label} and {overlap.second.label} share (n = {overlap.n}): "
        f"both {overlap.both}, only the first {overlap.only_first}, only the second {overlap.only_second}, "
        f"neither {overlap.neither}",
        f"Exact McNemar test: p = {overlap.p:.4g}; decided by: {overlap.decided_by}",
    ]


def _count_correct(run: Run, step: int, task: str) -> CountsByPrompt:
    """Return the counts of each prompt of a task, from one query. Raise NoSolveOverlap if none are recorded."""
    names = {"name": run.name, "step": step, "task": task}
    prior_tasks = run.prior_tasks
    if task and task not in prior_tasks:
        raise NoSolveOverlap(gettext("%(name)s was not evaluated on the prior task %(task)s.") % names)
    responses = Response.objects.filter(run=run, split=EVALUATION, step=step, is_superseded=False)
    # Prompts of a prior task have its name among their categories.
    if task:
        responses = responses.filter(prompt__categories__contains=[task])
    elif prior_tasks:
        responses = responses.exclude(prompt__categories__overlap=prior_tasks)
    samples, greedy = Q(sample__gt=0), Q(sample=0)
    rows = responses.values_list("prompt").annotate(
        correct=Count("pk", samples & IS_CORRECT), n=Count("pk", samples),
        first_correct=Min("sample", filter=samples & IS_CORRECT), greedy_correct=Count("pk", greedy & IS_CORRECT),
        greedy_n=Count("pk", greedy), without_part=Count("pk", ~HAS_PART),
    )  # fmt: skip
    counts = {}
    for pk, correct, n, first_correct, greedy_correct, greedy_n, without_part in rows:
        if without_part:
            reason = gettext("%(name)s did not record at step %(step)s which responses are correct. Evaluate it again.")
            raise NoSolveOverlap(reason % names)
        sampled = CorrectCount(correct, n, first_correct or min(n, 1))
        counts[pk] = {SAMPLES: sampled, GREEDY: CorrectCount(greedy_correct, greedy_n, 0)}
    if not counts:
        raise NoSolveOverlap(gettext("%(name)s has no recorded responses at step %(step)s.") % names)
    return counts


def _evaluation(run: Run, step: int, counts: Mapping[int, CorrectCount]) -> ComparedEvaluation:
    numbers = [count.n for count in counts.values()]
    return ComparedEvaluation(run, step, (min(numbers), max(numbers)))


def _has_samples(counts: CountsByPrompt) -> bool:
    return any(row[SAMPLES].n for row in counts.values())


def _correct_settings(run: Run) -> tuple[str, float | None]:
    """Return the settings that define a correct response."""
    settings = section(run, kinds.EVALUATION.method)
    rule = settings.get("correct", "auto")
    return rule, settings.get("correct_reward") if rule in ("auto", "reward") else None


def _data_set_order(prompt: Prompt) -> tuple[bool, int, str, int]:
    """Return the key by which prompts are in the order of their data set; those without a row number come last."""
    return prompt.row is None, prompt.row or 0, prompt.name, prompt.pk
