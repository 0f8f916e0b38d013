"""Measures of one step's responses to one task, under the names that pages and files use.

accuracy/greedy        share of prompts whose greedy response is correct
pass@k, pass^k         at least one, or all, of k samples are correct; each also with /low and /high
solutions/…            distinct correct solutions, for tasks that can tell them apart
text/self_bleu         similarity of a prompt's samples (1: all alike)
text/distinct_ratio    share of a prompt's samples that are distinct texts
kl/k1, kl/k2, entropy  per sampled token, next to the exact kl and kl/k3 of every evaluation; /se and _se: error
evaluate/prompts, evaluate/samples    numbers that all of these are made from
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from workers.analysis.keys import PROMPTS, SAMPLES
from workers.analysis.pass_at_k import Estimate, estimate, ks, pass_all_k, pass_at_k
from workers.analysis.right import RIGHT_PART
from workers.analysis.self_bleu import self_bleu
from workers.config.evaluate import EvaluateConfig
from workers.evaluation import Answer, spread
from workers.tasks import Score, Task
from workers.tasks.protocols import COST, SolutionTask

Rule = Callable[[Score], bool]


def measure(answers: Sequence[Answer], task: Task, is_correct: Rule) -> dict[str, float]:
    """Return the measures of all responses of one step: the greedy ones first, then rounds of samples over all
    prompts."""
    prompts = sum(answer.sample == 0 for answer in answers)
    by_prompt = [answers[i::prompts] for i in range(prompts)]
    samples = len(by_prompt[0]) - 1
    values = {PROMPTS: float(prompts), SAMPLES: float(samples)}
    values |= _named("accuracy/greedy", estimate([float(is_correct(of[0].score)) for of in by_prompt]))
    if samples:
        sampled = [of[1:] for of in by_prompt]
        values |= _passes([sum(is_correct(a.score) for a in of) for of in sampled], samples)
        values |= _texts([[a.completion.text for a in of] for of in sampled])
        values |= _tokens([a for a in answers if a.sample > 0])
    if isinstance(task, SolutionTask):
        values |= _solutions(by_prompt, task)
    return values


def correctness(answers: Sequence[Answer], settings: EvaluateConfig) -> Rule:
    """Return the rule by which a response is correct. Raise ValueError for a part that not every score has."""
    available = set.intersection(*(set(answer.score.parts) for answer in answers))
    rules: dict[str, tuple[bool, Rule]] = {
        RIGHT_PART: (RIGHT_PART in available, lambda score: score.parts[RIGHT_PART] > 0),
        "contains": ("contains" in available, lambda score: score.parts["contains"] > 0),
        "exact": ("exact" in available, lambda score: score.parts["exact"] > 0),
        "safe": (COST in available, lambda score: score.parts[COST] <= 0),
        "reward": (True, lambda score: score.reward >= settings.correct_reward),
    }
    choices = [name for name, (is_available, _) in rules.items() if is_available]
    name = choices[0] if settings.correct == "auto" else settings.correct
    if name not in choices:
        raise ValueError(f"is {name}, which this task does not measure; choose {', '.join(choices)}")
    return rules[name][1]


def _passes(correct: Sequence[int], samples: int) -> dict[str, float]:
    """Return pass@k and pass^k from the number of correct samples of each prompt."""
    values: dict[str, float] = {}
    for k in ks(samples):
        values |= _named(f"pass@{k}", estimate([pass_at_k(c, samples, k) for c in correct], samples))
        values |= _named(f"pass^{k}", estimate([pass_all_k(c, samples, k) for c in correct], samples))
    return values


def _texts(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return how much the samples of a prompt differ, on average over prompts; nothing for single samples."""
    if len(texts[0]) < 2:
        return {}
    distinct = [len({text.strip() for text in of_prompt}) / len(of_prompt) for of_prompt in texts]
    return {"text/self_bleu": fmean(map(self_bleu, texts)), "text/distinct_ratio": fmean(distinct)}


def _tokens(sampled: Sequence[Answer]) -> dict[str, float]:
    values: dict[str, float] = {}
    kls = [answer.kl for answer in sampled if answer.kl is not None]
    prompts = [answer.example.id for answer in sampled if answer.kl is not None]
    for name in ("k1", "k2"):
        values |= spread(f"kl/{name}", [getattr(kl, name) for kl in kls], prompts)
    return values | spread("entropy", [kl.entropy for kl in kls], prompts)


def _solutions(by_prompt: Sequence[Sequence[Answer]], task: SolutionTask) -> dict[str, float]:
    """Return distinct correct solutions a prompt, and the share of all solutions that they are, if those can be listed.

    Coverage is over the prompts that have a solution; greedy and sampled responses count alike.
    """
    counts, shares = [], []
    for answers in by_prompt:
        example = answers[0].example
        own = {s for a in answers if (s := task.solution(example, a.completion.text)) is not None}
        counts.append(len(own))
        if listed := task.solutions(example):
            shares.append(len(own & listed) / len(listed))
    values = {"solutions/distinct": fmean(counts), "solutions/distinct_max": float(max(counts))}
    return values | (_named("solutions/coverage", estimate(shares)) if shares else {})


def _named(name: str, value: Estimate) -> dict[str, float]:
    return {name: value.mean, f"{name}/low": value.low, f"{name}/high": value.high}
