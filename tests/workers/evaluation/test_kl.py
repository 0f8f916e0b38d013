"""KL(π ‖ π₀) against sums done by hand, on models small enough to enumerate."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workers.evaluation import kl_per_token, token_batches
from workers.models import Loaded


class Bigram(nn.Module):
    """Predicts the next token from the last one alone: row t of the table holds the logits after token t."""

    def __init__(self, probabilities: list[list[float]]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(probabilities).log())
        self.config = SimpleNamespace(vocab_size=self.table.shape[1])

    def forward(self, input_ids: Tensor, use_cache: bool, logits_to_keep: int) -> SimpleNamespace:
        return SimpleNamespace(logits=self.table[input_ids][:, -logits_to_keep:])


MODEL = Bigram([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.3, 0.5]])
BASE = Bigram([[0.25, 0.25, 0.5], [0.6, 0.2, 0.2], [0.2, 0.3, 0.5]])


def row_kl(token: int) -> float:
    p, q = MODEL.table[token].exp().tolist(), BASE.table[token].exp().tolist()
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_exact_kl_sums_over_vocabulary() -> None:
    (result,) = kl_per_token(MODEL, BASE, [[2, 0]], [[1, 0, 2]])

    assert result.exact == pytest.approx([row_kl(0), row_kl(1), row_kl(0)], abs=1e-6)


def test_k3_uses_only_sampled_token() -> None:
    (result,) = kl_per_token(MODEL, BASE, [[0]], [[2, 1]])

    by_hand = [q / p - 1 - math.log(q / p) for p, q in ((0.25, 0.5), (0.3, 0.3))]
    assert result.k3 == pytest.approx(by_hand, abs=1e-6)


def test_k1_k2_and_entropy_equal_float64_sums_by_hand() -> None:
    (result,) = kl_per_token(MODEL, BASE, [[0]], [[2, 1]])

    ratios = [math.log(p / q) for p, q in ((0.25, 0.5), (0.3, 0.3))]
    assert result.k1 == pytest.approx(ratios, abs=1e-6)
    assert result.k2 == pytest.approx([ratio**2 / 2 for ratio in ratios], abs=1e-6)
    entropies = [-sum(p * math.log(p) for p in row) for row in ((0.5, 0.25, 0.25), (0.2, 0.3, 0.5))]
    assert result.entropy == pytest.approx(entropies, abs=1e-6)


def test_k1_is_unbiased_for_the_exact_kl() -> None:
    results = kl_per_token(MODEL, BASE, [[0], [0], [0]], [[0], [1], [2]])

    draws = MODEL.table[0].exp().tolist()
    mean = sum(p * f.k1[0] for p, f in zip(draws, results, strict=True))
    assert mean == pytest.approx(row_kl(0), abs=1e-6)


def test_measures_equal_float64_on_a_real_model(micro: Loaded) -> None:
    other = copy.deepcopy(micro.model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.02)
    prompt, completion = [5, 6, 7], [9, 10, 11]
    (result,) = kl_per_token(micro.model, other, [prompt], [completion])

    ids = torch.tensor([[*prompt, *completion]])
    logits = [m(input_ids=ids, use_cache=False).logits[0, 2:5].double() for m in (micro.model, other)]
    log_p, log_q = (one.log_softmax(-1) for one in logits)
    ratio = (log_p - log_q).gather(1, torch.tensor(completion)[:, None])[:, 0]
    expected = {
        "exact": (log_p.exp() * (log_p - log_q)).sum(-1),
        "k1": ratio,
        "k2": ratio**2 / 2,
        "k3": torch.exp(-ratio) - 1 + ratio,
        "entropy": -(log_p.exp() * log_p).sum(-1),
    }
    assert expected["exact"].min() > 1e-6
    for name, values in expected.items():
        assert getattr(result, name) == pytest.approx(values.numpy(), rel=1e-3, abs=2e-6), name


def test_k3_is_unbiased_for_the_exact_kl() -> None:
    """Its mean over the model's own draws, each token weighted by its probability, is the exact sum."""
    results = kl_per_token(MODEL, BASE, [[0], [0], [0]], [[0], [1], [2]])

    draws = MODEL.table[0].exp().tolist()
    mean = sum(p * f.k3[0] for p, f in zip(draws, results, strict=True))
    assert mean == pytest.approx(row_kl(0), abs=1e-6)


def test_kl_keeps_order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, completions = [[0, 1, 2], [1], [2, 2]], [[0], [2, 0, 1, 1], [1, 0]]
    alone = [kl_per_token(MODEL, BASE, [p], [c])[0] for p, c in zip(prompts, completions, strict=True)]

    together = kl_per_token(MODEL, BASE, prompts, completions)
    monkeypatch.setattr(token_batches, "LOGITS_BYTES", 1)
    monkeypatch.setattr(token_batches, "BLOCK_BYTES", 1)
    one_by_one = kl_per_token(MODEL, BASE, prompts, completions)

    for expected, *others in zip(alone, together, one_by_one, strict=True):
        for other in others:
            np.testing.assert_array_equal(other.exact, expected.exact)
            np.testing.assert_array_equal(other.k3, expected.k3)


def test_a_model_against_itself_is_exactly_zero(micro: Loaded) -> None:
    results = kl_per_token(micro.model, micro.model, [[5, 6, 7], [8]], [[9, 10], [11, 12, 13, 1]])

    assert all((f.exact == 0).all() and (f.k3 == 0).all() for f in results)


def test_k3_is_never_negative(micro: Loaded) -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(3, 100, (16, 20), generator=generator).tolist()
    close = Bigram([[1 / 128] * 128] * 128)
    closer = Bigram([[1 / 128] * 128] * 128)
    with torch.no_grad():
        closer.table += 1e-6 * torch.randn(128, 128, generator=generator)

    results = kl_per_token(close, closer, [row[:4] for row in rows], [row[4:] for row in rows])

    k3 = np.concatenate([f.k3 for f in results])
    assert (k3 >= 0).all()
    assert k3.max() > 0


def test_kl_matches_plain_forward_passes(micro: Loaded) -> None:
    """Teacher forcing against plain forward passes, one position at a time."""
    other = Perturbed(micro)
    prompt, completion = [5, 6, 7], [9, 10, 1]

    (result,) = kl_per_token(micro.model, other.model, [prompt], [completion])

    for at in range(len(completion)):
        ids = torch.tensor([prompt + completion[:at]])
        p, q = (m(input_ids=ids).logits[0, -1].double().log_softmax(-1) for m in (micro.model, other.model))
        assert result.exact[at] == pytest.approx(float((p.exp() * (p - q)).sum()), rel=1e-4)


class Perturbed:
    """A copy of a model, a little way off."""

    def __init__(self, loaded: Loaded) -> None:
        import copy

        self.model = copy.deepcopy(loaded.model)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter += 0.02 * torch.randn(parameter.shape, generator=generator)
