import numpy as np
import pytest
from scipy import stats

from runs.compare import Final, Setting, choose_baseline, standings
from tests.runs.sample_curves import unsaved_run


def setting(name, rewards, seeds=None):
    """Return a setting of runs that ended at these rewards, and its numbers."""
    runs = tuple(unsaved_run(name, seed) for seed in (seeds or range(len(rewards))))
    return Setting(name, name, runs), {
        r.pk: Final({} if value is None else {"reward/mean": value}) for r, value in zip(runs, rewards, strict=True)
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
    assert other.delta.welch == pytest.approx(stats.ttest_ind(es, grpo, equal_var=False).pvalue)
    assert (other.delta.n, other.delta.base_n, other.delta.permutation) == (3, 2, None)


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


def test_one_seed_has_a_difference_and_no_test():
    _, other = rewards_of(setting("es-tiny", [1.0, 2.0]), setting("grpo-tiny", [5.0]))
    assert other.delta.difference == pytest.approx(3.5)
    assert (other.std, other.delta.welch, other.delta.permutation) == (None, None, None)


def test_equal_values_have_no_spread_and_no_difference():
    base, other = rewards_of(setting("grpo-tiny", [0.1] * 6), setting("es-tiny", [0.1] * 3))
    assert (base.mean, base.std, other.mean, other.std) == (0.1, 0.0, 0.1, 0.0)
    assert (other.delta.difference, other.delta.welch, other.delta.permutation) == (0.0, None, 1.0)


def baseline_of(*settings, flagged=()):
    """Return the name of the baseline that is chosen, and the reason."""
    numbers = {pk: final for _, finals in settings for pk, final in finals.items()}
    choice = choose_baseline([s for s, _ in settings], numbers, {run.pk for run in flagged})
    return choice.setting.name, choice.reason


def test_baseline_is_the_setting_with_the_most_evaluated_seeds():
    few, many = setting("grpo-tiny", [1.0, 2.0, None]), setting("es-tiny", [1.0, 2.0, 3.0])
    assert baseline_of(few, many) == ("es-tiny", "Chosen because it has the most evaluated seeds.")


def test_first_of_equal_settings_is_the_baseline():
    assert baseline_of(setting("grpo-tiny", [1.0]), setting("es-tiny", [1.0])) == (
        "grpo-tiny", "Chosen because it is the first.",
    )  # fmt: skip
    assert baseline_of(setting("es-tiny", [1.0])) == ("es-tiny", "")


def test_flagged_setting_is_the_baseline_only_if_all_are_flagged():
    one, three = setting("grpo-tiny", [1.0]), setting("es-tiny", [1.0, 2.0, 3.0])
    assert baseline_of(three, one, flagged=three[0].runs[:1]) == (
        "grpo-tiny", "Chosen because it has no open flags.",
    )  # fmt: skip
    every = [*one[0].runs, *three[0].runs]
    assert baseline_of(one, three, flagged=every) == ("es-tiny", "Chosen because it has the most evaluated seeds.")
    third = setting("es-tiny", [1.0, 2.0])
    assert baseline_of(one, three, third, flagged=three[0].runs) == (
        "es-tiny", "Chosen because it has no open flags and the most evaluated seeds.",
    )  # fmt: skip


def test_seconds_alone_are_no_evaluation():
    waiting, numbers = setting("es-tiny", [None, None])
    only_seconds = {pk: Final({"seconds": 3.0}) for pk in numbers}
    assert baseline_of((waiting, only_seconds), setting("grpo-tiny", [1.0]))[0] == "grpo-tiny"


def test_equal_seeds_of_different_configs_in_one_group_both_count():
    runs = tuple(unsaved_run("es-tiny", seed, sigma=sigma) for seed in (0, 1) for sigma in (0.1, 0.2))
    numbers = {run.pk: Final({"reward/mean": float(i)}) for i, run in enumerate(runs)}
    cell = rewards_of((Setting("es", "es", runs), numbers))[0]
    assert (cell.n, cell.mean, cell.seeds) == (4, 1.5, "0, 1")
