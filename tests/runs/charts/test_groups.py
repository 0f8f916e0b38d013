from runs.charts import groups_of
from tests.runs.sample_curves import run


def test_seeds_of_one_preset_are_one_group():
    groups = groups_of([run("es-tiny", 0), run("es-tiny", 1), run("grpo-tiny", 0)])
    assert [(g.name, len(g.runs)) for g in groups] == [("es-tiny", 2), ("grpo-tiny", 1)]


def test_a_changed_knob_makes_a_group_of_its_own_that_says_what_changed():
    groups = groups_of([run("es-tiny"), run("es-tiny", 1, sigma=0.02, alpha=0.02)])
    assert [g.name for g in groups] == ["es-tiny", "es-tiny, alpha 0.02, sigma 0.02"]


def test_many_changed_knobs_are_counted():
    group = groups_of([run("es-tiny", sigma=0.5, alpha=0.5, population=4, iterations=3, prompts=2)])[0]
    assert group.name == "es-tiny, alpha 0.5, iterations 3, population 4 and 2 more"


def test_a_run_without_preset_names_its_method():
    own = run("es-tiny")
    own.preset = ""
    assert groups_of([own])[0].name == "ES · own settings"


def test_two_settings_without_preset_are_told_apart():
    one, two = run("es-tiny"), run("es-tiny", sigma=0.5)
    one.preset = two.preset = ""
    assert [g.label for g in groups_of([one, two])] == ["own settings", "own settings, sigma 0.5"]


def test_where_a_run_runs_does_not_change_its_group():
    one, two = run("es-tiny"), run("es-tiny", 1)
    two.config["compute"]["cores"] = 7
    assert len(groups_of([one, two])) == 1


def test_methods_differ_in_colour_marker_and_dash_and_presets_in_dash_and_filling():
    es, hot, grpo = groups_of([run("es-tiny"), run("es-tiny-reckless"), run("grpo-tiny")])
    assert (es.colour, hot.colour, grpo.colour) == ("es", "es", "grpo")
    assert (es.marker, hot.marker, grpo.marker) == ("circle", "circle-open", "square")
    assert len({es.dash, hot.dash, grpo.dash}) == 3


def test_a_preset_that_is_gone_is_still_a_label():
    old = run("es-tiny")
    old.preset = "long-gone"
    assert groups_of([old])[0].name == "ES · long-gone"
