import pytest

from runs.compare import Final, Setting, cautions
from tests.runs.sample_curves import run


def told(*settings, numbers=None):
    every = [r for s in settings for r in s.runs]
    return cautions(settings, {r.pk: Final(steps={"reward": 60}) for r in every} | (numbers or {}))


def setting(name="es-tiny", seeds=range(5), state="succeeded", **changes):
    runs = tuple(run(name, seed, **changes) for seed in seeds)
    for one in runs:
        one.state = state
    return Setting(name, name, runs)


def test_five_ended_seeds_of_one_setting_need_no_word():
    assert told(setting()) == []
    assert told() == []


@pytest.mark.parametrize(
    ("section", "knob", "value", "said"),
    [("evaluation", "samples", 64, "evaluation.samples"), ("model", "path", "other", "model.path")],
)
def test_what_was_measured_otherwise_is_named_first(section, knob, value, said):
    other = setting()
    for one in other.runs:
        one.config[section][knob] = value
    assert told(setting(), other)[0] == f"Not measured alike: {said} differs."


def test_how_often_was_evaluated_does_not_matter():
    other = setting()
    for one in other.runs:
        one.config["evaluation"]["every"] = 1
    assert told(setting(), other) == []


@pytest.mark.parametrize(
    ("state", "said"), [("running", "5 runs have not ended"), ("failed", "5 runs have not reached the end")]
)
def test_runs_that_did_not_end_well_are_counted(state, said):
    assert told(setting(state=state))[0].startswith(said)


def test_few_seeds_are_said_with_n():
    assert told(setting(seeds=[0, 1])) == ["Fewer than 5 seeds: es-tiny (n = 2). Their spread is itself uncertain."]


def test_the_same_seed_twice_is_no_second_draw():
    said = told(setting(seeds=[0, 1, 2, 3, 4, 4]))
    assert said == ["es-tiny has several runs of seed 4: each seed counts once, by its newest run."]


def test_seeds_that_stand_at_different_steps_are_told():
    group = setting()
    said = told(group, numbers={group.runs[0].pk: Final(steps={"reward": 40})})
    assert said == ["The seeds of es-tiny were last evaluated at different steps: 40, 60."]


def test_what_is_not_finite_counts_for_nothing_and_is_said():
    group = setting()
    said = told(group, numbers={group.runs[0].pk: Final(unusable=("kl",), steps={"reward": 60})})
    assert said == ["KL, nats per token: 1 run has no finite number and counts for nothing."]


def test_two_methods_are_to_be_compared_along_what_they_cost():
    assert "compare along samples, tokens or GPU seconds too" in told(setting(), setting("grpo-tiny"))[-1]
