from types import MappingProxyType

import pytest

from runs.compare import Final, Setting, cautions
from runs.models import Flag
from tests.cases import each_case
from tests.runs.sample_curves import unsaved_run


def cautions_of(*settings, numbers=None, flags=MappingProxyType({})):
    every = [r for s in settings for r in s.runs]
    finals = {r.pk: Final(steps={"reward/mean": 60}) for r in every} | (numbers or {})
    return cautions(settings, finals, flags=flags)


def setting(name="es-tiny", seeds=range(5), state="succeeded", **changes):
    runs = tuple(unsaved_run(name, seed, **changes) for seed in seeds)
    for unfinished in runs:
        unfinished.state = state
    return Setting(name, name, runs)


def test_five_ended_seeds_of_one_setting_need_no_word():
    assert cautions_of(setting()) == []
    assert cautions_of() == []


@pytest.mark.parametrize(
    ("section", "key", "value", "path"),
    [("evaluation", "samples", 64, "evaluation.samples"), ("model", "path", "other", "model.path")],
)
def test_difference_in_measurement_is_reported_first(section, key, value, path):
    other = setting()
    for run in other.runs:
        run.config[section][key] = value
    assert cautions_of(setting(), other)[0] == f"Measured differently: {path} differs."


def test_evaluation_interval_does_not_matter():
    other = setting()
    for run in other.runs:
        run.config["evaluation"]["every"] = 1
    assert cautions_of(setting(), other) == []


@pytest.mark.parametrize(
    ("state", "message"), [("running", "5 runs have not finished"), ("failed", "5 runs stopped early")]
)
def test_runs_that_did_not_end_well_are_counted(state, message):
    assert cautions_of(setting(state=state))[0].startswith(message)


def test_few_seeds_are_reported_with_their_number():
    assert cautions_of(setting(seeds=[0, 1])) == [
        "Fewer than 5 seeds: es-tiny (n = 2). Their spread is uncertain, and p-values assume that seeds vary normally."
    ]


def test_the_same_seed_twice_is_no_second_draw():
    messages = cautions_of(setting(seeds=[0, 1, 2, 3, 4, 4]))
    assert messages == ["es-tiny has several runs of seed 4: each seed counts once, by its newest run."]


def test_seeds_evaluated_at_different_steps_are_reported():
    group = setting()
    ends = {run.pk: Final(steps={"reward/mean": 40}, last_steps={"reward/mean": 60}) for run in group.runs}
    ends[group.runs[0].pk] = Final(steps={"reward/mean": 40}, last_steps={"reward/mean": 40})
    assert cautions_of(group, numbers=ends) == [
        "es-tiny, values at step 40, the last at which all seeds have a finite value: Held-out reward. Last steps of "
        "the seeds: 40, 60."
    ]


def test_groups_with_values_at_different_steps_are_reported():
    early, late = setting(), setting("es-micro")
    messages = cautions_of(early, late, numbers={run.pk: Final(steps={"reward/mean": 40}) for run in early.runs})
    assert "Groups are compared at different steps: es-tiny at 40, es-micro at 60 (Held-out reward)." in messages


def test_values_that_are_not_finite_are_reported():
    group = setting()
    messages = cautions_of(group, numbers={group.runs[0].pk: Final(unusable=("kl",), steps={"reward/mean": 60})})
    assert messages == ["KL, nats per token: 1 run has no finite number and is not counted."]


def test_flagged_runs_are_named_first():
    group = setting(seeds=range(8), state="failed")
    flags = {run.pk: [Flag(detector="empty")] for run in group.runs[:2]}
    assert cautions_of(group, flags=flags)[0] == (
        "2 of 8 runs have open flags (es-tiny 0, es-tiny 1): their reward may come from cheating."
    )


@each_case(
    ("seeds", "flagged", "message"),
    [
        (8, 1, "1 of 8 runs has open flags (es-tiny 0): its reward may come from cheating."),
        (1, 1, "es-tiny 0 has open flags: its reward may come from cheating."),
        (8, 6, "6 of 8 runs have open flags (es-tiny 0, es-tiny 1, es-tiny 2, es-tiny 3, es-tiny "
         "4, …): their reward may come from cheating."),
    ],
    ids=["one of eight", "only one", "six of eight"],
)  # fmt: skip
def test_caution_about_flags_counts_runs(seeds, flagged, message):
    group = setting(seeds=range(seeds))
    flags = {run.pk: [Flag(detector="empty")] for run in group.runs[:flagged]}
    assert cautions_of(group, flags=flags)[0] == message


def test_two_methods_are_to_be_compared_along_what_they_cost():
    assert "Compare also along samples, tokens or GPU seconds" in cautions_of(setting(), setting("grpo-tiny"))[-1]


def test_group_of_several_configs_is_examined_run_by_run():
    mixed = Setting(
        "all", "all", tuple(unsaved_run(name, seed) for name in ("es-tiny", "grpo-tiny") for seed in (0, 1))
    )
    mixed.runs[-1].config["evaluation"]["samples"] = 64
    for ended in mixed.runs:
        ended.state = "succeeded"
    messages = cautions_of(mixed)
    assert messages[0] == "Measured differently: evaluation.samples differs."
    assert "Compare also along" in messages[-1]
    assert not any("several runs of seed" in message for message in messages)
