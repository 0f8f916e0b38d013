import json

from runs.compare import config_diff
from runs.compare.config_diff import diff_to_json
from workers.config import RunConfig, preset


def config(name, **changes):
    whole = RunConfig.from_json(preset(name).config).to_json()
    return {**whole, **changes}


def differences(diff):
    return {d.path: d.values for _, section in diff.sections for d in section}


def test_diff_lists_only_differing_keys():
    first = config("es-tiny")
    second = config("es-tiny", seed=3, es={**first["es"], "sigma": 0.5})
    diff = config_diff([first, second])
    assert differences(diff) == {"seed": ("0", "3"), "es.sigma": ("0.01", "0.5")}
    assert diff.same == len([*_paths(first)]) - 2
    assert diff.differing == 2


def test_differences_are_grouped_by_section_in_config_order():
    diff = config_diff([config("es-tiny"), config("grpo-tiny", seed=1)])
    names = [name for name, _ in diff.sections]
    assert names[0] == ""
    assert [d.path for d in diff.sections[0][1]] == ["method", "seed"]
    assert set(names) >= {"es", "grpo"}
    assert all(d.path.rpartition(".")[0] == name for name, section in diff.sections for d in section)


def test_missing_key_differs_from_null():
    null, absent, present = {"es": {"lora": None}}, {"es": {}}, {"es": {"lora": {"rank": 2}}}
    diff = differences(config_diff([null, absent, present]))
    assert diff == {"es.lora": ("null", None, None), "es": (None, "{}", None), "es.lora.rank": (None, None, "2")}


def test_other_configs_are_compared_with_the_baseline():
    configs = [config("es-tiny", seed=seed) for seed in (1, 2, 1)]
    (_, (seed,)), *_ = config_diff(configs, baseline=1).sections
    assert seed.cells == [("1", True), ("2", False), ("1", True)]


def test_everything_can_be_shown_with_the_differences_among_it():
    first, second = config("es-tiny"), config("es-tiny", seed=3)
    diff = config_diff([first, second], everything=True)
    assert differences(diff).keys() == {*_paths(first)}
    assert diff.differing == 1


def test_one_run_differs_in_nothing():
    assert config_diff([config("es-tiny")]).sections == ()
    assert config_diff([]).sections == ()


def test_differences_can_be_copied_as_json():
    diff = config_diff([{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"b": "x"}], everything=True)
    assert json.loads(diff_to_json(diff, ["A", "B", "C"])) == {"a": {"A": 1, "B": 2}}


def _paths(value, prefix=""):
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _paths(inner, f"{prefix}{key}.")
        else:
            yield prefix + key
