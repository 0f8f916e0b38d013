from runs.charts import groups_of
from tests.runs.sample_curves import unsaved_run


def test_seeds_of_one_preset_are_one_group():
    groups = groups_of([unsaved_run("es-tiny", 0), unsaved_run("es-tiny", 1), unsaved_run("grpo-tiny", 0)])
    assert [(g.name, len(g.runs)) for g in groups] == [("es-tiny", 2), ("grpo-tiny", 1)]


def test_changed_setting_makes_a_group_named_after_it():
    groups = groups_of([unsaved_run("es-tiny"), unsaved_run("es-tiny", 1, sigma=0.02, alpha=0.02)])
    assert [g.name for g in groups] == ["es-tiny", "es-tiny, alpha 0.02, sigma 0.02"]


def test_many_changed_settings_are_counted():
    group = groups_of([unsaved_run("es-tiny", sigma=0.5, alpha=0.5, population=4, iterations=3, prompts=2)])[0]
    assert group.name == "es-tiny, alpha 0.5, iterations 3, population 4 and 2 more"


def test_a_run_without_preset_names_its_method():
    own = unsaved_run("es-tiny")
    own.preset = ""
    assert groups_of([own])[0].name == "ES · own settings"


def test_settings_without_preset_get_distinct_labels():
    first, second = unsaved_run("es-tiny"), unsaved_run("es-tiny", sigma=0.5)
    first.preset = second.preset = ""
    assert [g.label for g in groups_of([first, second])] == ["own settings", "own settings, sigma 0.5"]


def test_compute_settings_do_not_change_the_group():
    first, second = unsaved_run("es-tiny"), unsaved_run("es-tiny", 1)
    second.config["compute"]["cores"] = 7
    assert len(groups_of([first, second])) == 1


def test_methods_and_presets_differ_in_style():
    es, hot, grpo = groups_of([unsaved_run("es-tiny"), unsaved_run("es-tiny-reckless"), unsaved_run("grpo-tiny")])
    assert (es.colour, hot.colour, grpo.colour) == ("es", "es-2", "grpo")
    assert (es.marker, hot.marker, grpo.marker) == ("circle", "circle-open", "square")
    assert len({es.dash, hot.dash, grpo.dash}) == 3


def test_a_preset_that_is_gone_is_still_a_label():
    old = unsaved_run("es-tiny")
    old.preset = "long-gone"
    assert groups_of([old])[0].name == "ES · long-gone"
