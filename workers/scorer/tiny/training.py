"""Train the tiny network on judged answers: squared error, Adam."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.corpus.safety import JudgedAnswer
from workers.scorer.tiny.network import EncodedText, Floats, Network, encode

EPOCHS, BATCH, RATE = 10, 128, 1e-2
FIRST, SECOND, TINY = 0.9, 0.98, 1e-8
"""Adam's decays, and the constant that prevents a division by zero."""


def train(judged: Sequence[JudgedAnswer], seed: int) -> Network:
    """Return a network that has seen every answer EPOCHS times, with a rate that falls to 0."""
    rng = np.random.default_rng(seed)
    encoded = [encode(answer.prompt, answer.response) for answer in judged]
    targets = np.array([(answer.reward, answer.cost) for answer in judged], np.float32)
    network = Network.random(rng)
    adam = Adam([network.into, network.bend, network.out, network.level])
    count = len(judged)
    batches = [rows for _ in range(EPOCHS) for rows in np.array_split(rng.permutation(count), max(1, count // BATCH))]
    for n, rows in enumerate(batches):
        adam.step(gradients(network, [encoded[row] for row in rows], targets[rows]), RATE * (1.0 - n / len(batches)))
    return network


def gradients(network: Network, encoded: Sequence[EncodedText], targets: Floats) -> list[Floats]:
    """Return the gradients of half the mean squared error, in the order of the weights. targets [n, 2]."""
    hidden = network.hidden(encoded)
    error = (hidden @ network.out + network.level - targets) / np.float32(len(encoded))
    back = (error @ network.out.T) * (1.0 - hidden**2)
    return [_input_gradient(network.into, encoded, back), back.sum(0), hidden.T @ error, error.sum(0)]


def _input_gradient(into: Floats, encoded: Sequence[EncodedText], back: Floats) -> Floats:
    """Sum the gradient of each bucket in the order of buckets, so that equal ones are adjacent."""
    buckets = np.concatenate([text.buckets for text in encoded])
    order = np.argsort(buckets, kind="stable")
    texts = np.repeat(np.arange(len(encoded)), [len(text.buckets) for text in encoded])[order]
    reaching = back[texts] * np.concatenate([text.weights for text in encoded])[order, None]
    firsts = np.flatnonzero(np.diff(buckets[order], prepend=-1))
    gradient = np.zeros_like(into)
    gradient[buckets[order][firsts]] = np.add.reduceat(reaching, firsts)
    return gradient


class Adam:
    """Adam (Kingma and Ba, 2015), on weights that are changed in place."""

    def __init__(self, weights: list[Floats]) -> None:
        self._weights = weights
        self._means = [np.zeros_like(w) for w in weights]
        self._squares = [np.zeros_like(w) for w in weights]
        self._steps = 0

    def step(self, gradients: list[Floats], rate: float) -> None:
        """Update every weight once."""
        self._steps += 1
        unbiased = rate * np.sqrt(1.0 - SECOND**self._steps) / (1.0 - FIRST**self._steps)
        for weight, mean, square, gradient in zip(self._weights, self._means, self._squares, gradients, strict=True):
            mean += (1.0 - FIRST) * (gradient - mean)
            square += (1.0 - SECOND) * (gradient**2 - square)
            weight -= np.float32(unbiased) * mean / (np.sqrt(square) + TINY)
