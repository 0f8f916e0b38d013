"""Reward of weights with noise, θ + σε: how far noise of each size, in each group of tensors, changes the answers.

ε is standard normal and depends on the seed, the draw and the tensor's name alone: every σ, group and subject gets the
same noise, so that they are compared in pairs. Perturbed weights are written from the float32 master each time, and
nothing is subtracted again.

pass@k compares two ways to k different answers at one budget: the greedy answers of k perturbed models, and k samples
of the model itself at a temperature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from workers.analysis.pass_at_k import estimate, ks, pass_at_k
from workers.config.evaluate import EvaluateConfig
from workers.evaluation import Answer
from workers.probes.behaviour.paired import draw_changes, mean_change
from workers.probes.behaviour.prompted_model import (
    WHOLE_MODEL,
    Check,
    Progress,
    PromptedModel,
    rewards,
)
from workers.probes.behaviour.seeds import direction_seeds
from workers.probes.evaluate.measures import Rule, correctness
from workers.probes.weights import Subject, WeightFiles
from workers.records import Probe, ProbeValue

NAME = "perturbation"


def perturbation(
    model: PromptedModel,
    subject: Subject,
    sigmas: Sequence[float],
    groups: Sequence[str],
    draws: int,
    temperatures: Sequence[float],
    seed: int,
    check: Check,
    progress: Progress | None = None,
) -> Iterator[Probe]:
    """Yield the measures change, change_by_draw and, if the group all is among `groups`, pass_at_k.

    A group without a tensor in this model is left out. The model has the weights of the subject afterwards. Raise
    WeightsDiffer if they are not those of this model, RewardFailed, ValueError for fewer than two draws, and
    RuntimeError if the weights could not be restored to the bit.
    """
    with WeightFiles(subject.tuned) as files, model.restored(files):
        files.hold(model.loaded.device)
        plain = model.greedy()
        is_correct = correctness(plain, EvaluateConfig())
        parameters = model.groups(groups)
        seeds = direction_seeds(seed, NAME, draws)
        changes: list[ProbeValue] = []
        by_draw: list[ProbeValue] = []
        passes: list[ProbeValue] = []
        for number, (sigma, group) in enumerate((s, g) for s in sigmas for g in parameters):
            if progress:
                progress(f"perturbation of {group} with σ = {sigma:g}", number / (len(sigmas) * len(parameters)))
            perturbed = []
            for draw_seed in seeds:
                check()
                model.write_perturbed(files, parameters[group], sigma, draw_seed)
                perturbed.append(model.greedy())
            differences = np.stack([rewards(answers) - rewards(plain) for answers in perturbed])
            by_draw += draw_changes(differences, sigma, group, seed)
            changes.append(mean_change(differences, sigma, group, seed))
            if group == WHOLE_MODEL:
                passes += _pass_values(list(zip(*perturbed, strict=True)), is_correct, f"σ={sigma:g}")
        if WHOLE_MODEL in parameters:
            model.write_files(files)
            for temperature in temperatures:
                check()
                passes += _pass_values(model.sample(temperature, draws), is_correct, f"T={temperature:g}")
    measured = {"change": changes, "change_by_draw": by_draw, "pass_at_k": passes}
    for measure, values in measured.items():
        if values:
            yield Probe(subject.step, NAME, measure, str(subject), tuple(values))


def _pass_values(answers: Sequence[Sequence[Answer]], is_correct: Rule, arm: str) -> list[ProbeValue]:
    """Return pass@k for each k of answers [prompts][n]; `arm` names the way in which they were made."""
    n = len(answers[0])
    correct = [sum(is_correct(answer.score) for answer in of_prompt) for of_prompt in answers]
    values = []
    for k in ks(n):
        of_k = estimate([pass_at_k(c, n, k) for c in correct], n)
        values.append(ProbeValue(of_k.mean, len(correct), tensor=arm, low=of_k.low, high=of_k.high, x=float(k)))
    return values
