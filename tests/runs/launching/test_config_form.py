import json

import pytest

from runs.launching.config_form import SETTINGS, LaunchForm, config_from_fields, initial_from, parse_seeds
from tests.cases import each_case
from workers.config import RunConfig, presets


def sent(preset="es-tiny", **typed):
    """Return the data that a browser sends of a form that was filled from a preset and then changed."""
    filled = {k: v for k, v in initial_from(presets()[preset].config).items() if v is not None and v is not False}
    return {"preset": preset, "seeds": "0", "name": "", **filled, **typed}


@each_case("name", list(presets()))
def test_a_form_filled_from_a_preset_makes_exactly_its_config(name):
    form = LaunchForm(sent(name))
    assert form.is_valid(), form.errors
    assert form.configs == [RunConfig.from_json(presets()[name].config)]


def test_every_setting_has_a_field_with_its_help():
    form = LaunchForm()
    assert SETTINGS.keys() <= form.fields.keys()
    assert all(parameter.help.splitlines()[0] in form.fields[path].help_text for path, parameter in SETTINGS.items())


def test_each_seed_is_a_run():
    form = LaunchForm(sent(seeds="0, 2, 5-6"))
    assert form.is_valid()
    assert [config.seed for config in form.configs] == [0, 2, 5, 6]
    assert form.names() == [f"es-tiny seed {s}" for s in (0, 2, 5, 6)]


def test_a_single_run_has_the_name_that_it_was_given():
    form = LaunchForm(sent(name="mine"))
    assert form.is_valid()
    assert form.names() == ["mine"]


def test_all_problems_are_reported_at_their_fields():
    typed = {"es.population": "one", "es.sigma": "-1", "evaluation.prompts": "0", "seeds": "x"}
    form = LaunchForm(sent(**typed))
    assert not form.is_valid()
    assert form.errors.keys() == typed.keys()
    assert form.errors["es.population"] == ["must be a whole number, not 'one'"]
    assert form.errors["es.sigma"] == ["must be above 0 and at most 1000, not -1.0"]


def test_invalid_input_is_preserved():
    form = LaunchForm(sent(**{"es.population": "one"}))
    form.is_valid()
    assert 'value="one"' in str(form["es.population"])


def test_problems_that_several_fields_make_are_shown():
    form = LaunchForm(sent("grpo-tiny", **{"grpo.num_generations": "7"}))
    assert not form.is_valid()
    assert form.errors["grpo.num_generations"][0].startswith("must divide")


def test_the_other_methods_fields_are_not_read():
    form = LaunchForm(sent(**{"grpo.beta": "nonsense"}))
    assert form.is_valid()
    assert form.configs[0].grpo is None


@each_case(("preset", "every"), [("es-tiny", 7), ("grpo-tiny", 7), ("evaluate", 10), ("probe", 10)])
def test_interval_of_evaluations_is_read_for_trainings_only(preset, every):
    typed = {"evaluation.every": "7", "evaluation.prompts": "5"}
    is_preset = preset not in ("evaluate", "probe")
    form = LaunchForm(sent(preset, **typed) if is_preset else {"method": preset, "seeds": "0", **typed})
    assert form.is_valid(), form.errors
    assert (form.configs[0].evaluation.every, form.configs[0].evaluation.prompts) == (every, 5)


def test_empty_field_has_its_default():
    form = LaunchForm(sent(**{"es.sigma": ""}))
    assert form.is_valid()
    assert form.configs[0].es_section().sigma == 1e-3


def test_adapter_is_trained_only_on_request():
    plain = LaunchForm(sent(**{"es.lora.rank": "4"}))
    lora = LaunchForm(sent(**{"es.lora": "on", "es.lora.rank": "4"}))
    assert plain.is_valid()
    assert lora.is_valid()
    assert plain.configs[0].es_section().lora is None
    assert lora.configs[0].to_json()["es"]["lora"]["rank"] == 4


def test_lists_and_mappings_are_json():
    good = LaunchForm(sent("grpo-tiny", **{"grpo.extra": '{"top_k": 5}'}))
    bad = LaunchForm(sent("grpo-tiny", **{"grpo.extra": "{top_k"}))
    assert good.is_valid()
    assert good.configs[0].to_json()["grpo"]["extra"] == {"top_k": 5}
    assert not bad.is_valid()
    assert bad.errors["grpo.extra"] == ["must be an object, not '{top_k'"]


def test_no_method_is_a_problem_of_its_own():
    form = LaunchForm({"seeds": "0"})
    assert not form.is_valid()
    assert "method" in form.errors


@each_case("text", ["a", "1.5", "3-1", "0-99", "-1", "1;2"])
def test_seeds_that_cannot_be_read_are_named(text):
    with pytest.raises(ValueError, match="not"):
        parse_seeds(text)


def test_a_section_left_out_is_not_in_the_config():
    assert config_from_fields({"method": "es", "es.sigma": 0.1, "grpo.beta": 1.0}) == {
        "method": "es",
        "es": {"sigma": 0.1},
    }


def test_unstorable_characters_are_refused():
    form = LaunchForm(sent("grpo-tiny", **{"model.path": "ti\x00ny", "grpo.extra": '{"a": "\\u0000"}'}))
    assert not form.is_valid()
    assert form.errors["model.path"] == ["must be text without null characters, not 'ti\\x00ny'"]
    assert form.errors["grpo.extra"] == ["must be text without null characters, not {'a': '\\x00'}"]


def test_only_the_options_of_the_chosen_task_are_read():
    typed = {"task.name": "countdown", "task.countdown.train_problems": "5", "task.conciseness.train_file": "facts"}
    form = LaunchForm(sent(**typed))
    assert form.is_valid(), form.errors
    assert form.configs[0].to_json()["task"]["options"] == {"train_file": "", "eval_file": "", "train_problems": 5}
    assert initial_from(form.configs[0].to_json())["task.countdown.train_problems"] == 5
    assert initial_from(form.configs[0].to_json())["task.conciseness.train_file"] == ""


def test_an_own_tasks_options_are_a_json_object():
    typed = {"task.name": "own", "task.own.path": "my_task:Task", "task.own.options": '{"words": ["a"], "n": null}'}
    form = LaunchForm(sent(**typed))
    assert form.is_valid(), form.errors
    config = form.configs[0].to_json()
    assert config["task"]["options"] == {"path": "my_task:Task", "options": {"words": ["a"], "n": None}}
    assert json.loads(initial_from(config)["task.own.options"]) == {"words": ["a"], "n": None}
    assert "<textarea" in str(form["task.own.options"])


@each_case("typed", ["{words", "[1]", '"x"', "3", '{"a": NaN}', "[" * 100_000])
def test_unknown_task_options_are_reported_at_their_field(typed):
    form = LaunchForm(sent(**{"task.name": "own", "task.own.path": "my_task", "task.own.options": typed}))
    assert not form.is_valid()
    assert form.errors.keys() == {"task.own.path", "task.own.options"}
    assert form.errors["task.own.path"] == ["must be module:attribute, such as my_task:Task, not 'my_task'"]
    assert "must be" in form.errors["task.own.options"][0]
