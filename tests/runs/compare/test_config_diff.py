import json

from runs.compare import config_diff
from runs.compare.config_diff import diff_to_json
from workers.config import RunConfig, preset


def config(name, **changes):
    whole = RunConfig.from_json(preset(name).config).to_json()
    return {**whole, **changes}


def with_sigma(sigma, **changes):
    return config("es-tiny", es={**config("es-tiny")["es"], "sigma": sigma}, **changes)


def differences(diff):
    return {d.path: d.values for d in diff.settings}


def cells(diff, path):
    """Return (values, whether they differ from the baseline's) of a setting in each column."""
    (setting,) = (d for d in diff.settings if d.path == path)
    return [(cell.values, cell.is_other) for cell in setting.cells]


def test_diff_lists_only_differing_keys():
    first = config("es-tiny")
    diff = config_diff([first, with_sigma(0.5, seed=3)])
    assert differences(diff) == {"seed": ("0", "3"), "es.sigma": ("0.01", "0.5")}
    assert diff.same == len([*_paths(first)]) - 2
    assert diff.differing == 2


def test_shared_settings_come_first_and_those_of_one_method_are_folded_by_section():
    diff = config_diff([config("es-tiny"), config("grpo-tiny", seed=1)])
    assert [(name, [d.path for d in section]) for name, section in diff.sections] == [("", ["method", "seed"])]
    assert [(fold.section, fold.method) for fold in diff.folded] == [("es", "es"), ("grpo", "grpo")]
    es = diff.folded[0]
    assert len(es.settings) == len([*_paths(config("es-tiny")["es"])])
    assert ("sigma", "0.01") in [(setting.name, setting.only_value) for setting in es.settings]
    assert diff.differing == 2 + sum(len(fold.settings) for fold in diff.folded)


def test_setting_that_differs_among_the_runs_of_its_method_is_not_folded():
    diff = config_diff([config("es-tiny"), with_sigma(0.5), config("grpo-tiny", model={"path": "other"})])
    assert [name for name, _ in diff.sections] == ["", "model", "es"]
    assert cells(diff, "es.sigma") == [(("0.01",), False), (("0.5",), True), ((None,), True)]
    assert "es.sigma" not in [setting.path for fold in diff.folded for setting in fold.settings]


def test_runs_that_differ_in_seed_and_place_share_a_column():
    configs = [config("es-tiny", seed=seed, compute={"cluster": f"c{seed % 2}"}) for seed in range(3)]
    diff = config_diff([*configs, with_sigma(0.5, seed=1)], baseline=1)
    assert (diff.columns, diff.baseline) == (((0, 1, 2), (3,)), 0)
    assert cells(diff, "seed") == [(("0", "1", "2"), False), (("1",), True)]
    assert cells(diff, "compute.cluster") == [(('"c0"', '"c1"'), False), (('"local"',), True)]


def test_fifty_seeds_of_two_settings_have_two_columns():
    configs = [make(seed) for seed in range(25) for make in (lambda s: config("es-tiny", seed=s), _half)]
    diff = config_diff(configs)
    assert [len(column) for column in diff.columns] == [25, 25]
    (seed,) = (d for d in diff.settings if d.path == "seed")
    assert (seed.cells[0].first_values[-1], seed.cells[0].more) == ("7", 17)


def _half(seed):
    return with_sigma(0.5, seed=seed)


def test_equal_seeds_of_both_columns_are_listed_and_are_no_difference():
    diff = config_diff([make(seed) for seed in range(2) for make in (lambda s: config("es-tiny", seed=s), _half)])
    assert [d.path for d in diff.settings if d.differs] == ["es.sigma"]
    assert cells(diff, "seed") == [(("0", "1"), False), (("0", "1"), False)]
    assert diff.differing == 1


def test_missing_key_differs_from_null():
    null, absent, present = {"es": {"lora": None}}, {"es": {}}, {"es": {"lora": {"rank": 2}}}
    diff = differences(config_diff([null, absent, present]))
    assert diff == {"es.lora": ("null", None, None), "es": (None, "{}", None), "es.lora.rank": (None, None, "2")}


def test_other_configs_are_compared_with_the_baseline():
    diff = config_diff([with_sigma(sigma) for sigma in (1, 2, 1, 3)], baseline=1)
    assert diff.columns == ((0, 2), (1,), (3,))
    assert cells(diff, "es.sigma") == [(("1",), True), (("2",), False), (("3",), True)]


def test_everything_can_be_shown_with_the_differences_among_it():
    first, second = config("es-tiny"), config("es-tiny", seed=3)
    diff = config_diff([first, second], everything=True)
    assert differences(diff).keys() == {*_paths(first)}
    assert diff.differing == 1


def test_one_run_differs_in_nothing():
    assert config_diff([config("es-tiny")]).sections == ()
    assert config_diff([]).sections == ()


def test_differences_can_be_copied_as_json_with_every_run():
    diff = config_diff([{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"b": "x"}], everything=True)
    assert json.loads(diff_to_json(diff, ["A", "B", "C"])) == {"a": {"A": 1, "B": 2}}
    both = config_diff([config("es-tiny", seed=0), config("es-tiny", seed=1), config("grpo-tiny")])
    copied = json.loads(diff_to_json(both, ["A", "B", "C"]))
    assert (copied["seed"], copied["es.sigma"]) == ({"A": 0, "B": 1, "C": 0}, {"A": 0.01, "B": 0.01})


def _paths(value, prefix=""):
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _paths(inner, f"{prefix}{key}.")
        else:
            yield prefix + key
