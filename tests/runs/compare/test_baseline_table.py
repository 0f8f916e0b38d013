import numpy as np
import pytest

from runs.compare import Final, Setting, standings
from tests.runs.sample_curves import unsaved_run


def setting(name, rewards, seeds=None):
    """Return a setting of runs that ended at these rewards, and its numbers."""
    runs = tuple(unsaved_run(name, seed) for seed in (seeds or range(len(rewards))))
    return Setting(name, name, runs), {
        r.pk: Final({} if value is None else {"reward": value}) for r, value in zip(runs, rewards, strict=True)
    }


def rewards_of(*settings):
    """Return the reward cell of each setting, against the first."""
    numbers = {pk: final for _, finals in settings for pk, final in finals.items()}
    return [s.cells[0] for s in standings([s for s, _ in settings], numbers, settings[0][0])]


def test_a_delta_is_the_difference_of_the_means_of_the_seeds():
    es, grpo = [-7.0, -8.0, -6.5], [-12.0, -10.0]
    base, other = rewards_of(setting("grpo-tiny", grpo), setting("es-tiny", es))
    assert (base.mean, base.delta) == (pytest.approx(np.mean(grpo)), None)
    assert base.std == pytest.approx(np.std(grpo, ddof=1))
    assert other.delta.difference == pytest.approx(np.mean(es) - np.mean(grpo))
    pooled = np.sqrt((2 * np.var(es, ddof=1) + np.var(grpo, ddof=1)) / 3)
    assert other.delta.spread == pytest.approx(pooled)
    assert other.delta.exceeds is True
    assert other.delta.chance == pytest.approx(2 / 10)


def test_n_and_the_seeds_are_named():
    cell = rewards_of(setting("es-tiny", [1.0, 2.0, 3.0], seeds=[7, 1, 4]))[0]
    assert (cell.n, cell.seeds) == (3, "1, 4, 7")


def test_a_seed_counts_once_by_its_newest_run_that_has_the_number():
    cell = rewards_of(setting("es-tiny", [1.0, 2.0, 5.0, None], seeds=[0, 1, 1, 1]))[0]
    assert cell.by_seed == ((0, 1.0), (1, 5.0))


def test_unmeasured_value_has_no_number():
    base, other = rewards_of(setting("es-tiny", [None, 2.0]), setting("grpo-tiny", [None]))
    assert (base.n, base.mean) == (1, 2.0)
    assert (other.n, other.mean, other.std, other.delta) == (0, None, None, None)


def test_one_seed_has_a_difference_and_no_spread():
    _, other = rewards_of(setting("es-tiny", [1.0, 2.0]), setting("grpo-tiny", [5.0]))
    assert other.delta.difference == pytest.approx(3.5)
    assert (other.std, other.delta.spread, other.delta.exceeds) == (None, None, None)
