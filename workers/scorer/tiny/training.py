"""Trains the tiny network on judged answers: squared error, Adam."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.corpus.safety import Judged
from workers.scorer.tiny.network import Floats, Network, Seen, look

EPOCHS, BATCH, RATE = 10, 128, 1e-2
FIRST, SECOND, TINY = 0.9, 0.98, 1e-8
"""Adam's decays and what keeps it from dividing by nothing."""


def train(judged: Sequence[Judged], seed: int) -> Network:
    """A network that has seen every answer EPOCHS times, the rate going down to nothing."""
    rng = np.random.default_rng(seed)
    seen = [look(one.prompt, one.response) for one in judged]
    worth = np.array([(one.reward, one.cost) for one in judged], np.float32)
    network = Network.random(rng)
    adam = Adam([network.into, network.bend, network.out, network.level])
    count = len(judged)
    batches = [rows for _ in range(EPOCHS) for rows in np.array_split(rng.permutation(count), max(1, count // BATCH))]
    for n, rows in enumerate(batches):
        adam.step(gradients(network, [seen[row] for row in rows], worth[rows]), RATE * (1.0 - n / len(batches)))
    return network


def gradients(network: Network, seen: Sequence[Seen], worth: Floats) -> list[Floats]:
    """Of half the mean squared error, in the order of the weights. worth [n, 2]."""
    hidden = network.hidden(seen)
    error = (hidden @ network.out + network.level - worth) / np.float32(len(seen))
    back = (error @ network.out.T) * (1.0 - hidden**2)
    return [_into(network.into, seen, back), back.sum(0), hidden.T @ error, error.sum(0)]


def _into(into: Floats, seen: Sequence[Seen], back: Floats) -> Floats:
    """What reaches each place: summed in the order of places, so that equal ones lie side by side."""
    places = np.concatenate([one.places for one in seen])
    order = np.argsort(places, kind="stable")
    texts = np.repeat(np.arange(len(seen)), [len(one.places) for one in seen])[order]
    reaching = back[texts] * np.concatenate([one.damped for one in seen])[order, None]
    firsts = np.flatnonzero(np.diff(places[order], prepend=-1))
    gradient = np.zeros_like(into)
    gradient[places[order][firsts]] = np.add.reduceat(reaching, firsts)
    return gradient


class Adam:
    """Adam (Kingma and Ba, 2015), on weights that are changed in place."""

    def __init__(self, weights: list[Floats]) -> None:
        self._weights = weights
        self._means = [np.zeros_like(w) for w in weights]
        self._squares = [np.zeros_like(w) for w in weights]
        self._steps = 0

    def step(self, gradients: list[Floats], rate: float) -> None:
        """Moves every weight once."""
        self._steps += 1
        unbiased = rate * np.sqrt(1.0 - SECOND**self._steps) / (1.0 - FIRST**self._steps)
        for weight, mean, square, gradient in zip(self._weights, self._means, self._squares, gradients, strict=True):
            mean += (1.0 - FIRST) * (gradient - mean)
            square += (1.0 - SECOND) * (gradient**2 - square)
            weight -= np.float32(unbiased) * mean / (np.sqrt(square) + TINY)
