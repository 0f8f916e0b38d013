import json

import plotly.graph_objects as go

from runs.run_page import population_chart


def members(*rewards):
    return [{"seed": i, "reward": r} for i, r in enumerate(rewards)]


def test_every_member_is_a_dot_and_the_mean_a_line():
    chart = population_chart("es", [(1, members(1, 3)), (2, members(2, 6))], total=2)
    go.Figure(chart.figure)
    _, dots, mean = chart.figure["data"]
    assert (dots["x"], dots["y"]) == ([1, 1, 2, 2], [1, 3, 2, 6])
    assert (mean["x"], mean["y"]) == ([1, 2], [2, 4])
    assert chart.table.rows[1] == (2, 2, 4.0, 2.0, 6.0, 2.0)


def test_dead_iterations_are_counted_in_words():
    chart = population_chart("es", [(1, members(1, 1)), (2, members(1, 2))], total=2)
    assert chart.summary == "At 2: n = 2, 1 to 2, fitness spread 0.500. 1 of 2 dead."


def test_iterations_that_are_not_drawn_are_counted():
    assert population_chart("es", [(1, members(1, 2))], total=900).summary.endswith("1 of 900 iterations shown.")


def test_rewards_that_json_cannot_hold_are_left_out():
    chart = population_chart("grpo", [(1, [*members(1.0), {"seed": 9, "reward": "NaN"}])], total=1)
    assert chart.figure["data"][1]["y"] == [1.0]
    json.dumps(chart.figure, allow_nan=False)


def test_no_iteration_yet_is_an_empty_chart():
    chart = population_chart("es", [], total=0)
    assert chart.is_empty
    assert chart.summary == "No iteration yet."


def test_a_grpo_step_is_dead_where_its_groups_have_no_spread_inside():
    groups = [{"seed": i, "reward": r, "parts": {"reward_std": std}} for i, (r, std) in enumerate([(1, 0.5), (3, 1.5)])]
    alike = [{"seed": i, "reward": r, "parts": {"reward_std": 0.0}} for i, r in enumerate((1, 3))]
    chart = population_chart("grpo", [(1, alike), (2, groups)], total=2)
    assert chart.summary == "At 2: n = 2, 1 to 3, spread inside groups 1. 1 of 2 dead."


def test_engines_of_members_are_in_hover_text_and_table():
    shared = [{"seed": i, "reward": float(i), "engine": engine} for i, engine in enumerate((1, 0, 0, 1, 0))]
    chart = population_chart("es", [(1, members(1, 3)), (2, shared)], total=2)
    go.Figure(chart.figure)
    mean = chart.figure["data"][2]
    assert mean["hovertemplate"].endswith("%{customdata[4]}")
    assert [spans[4] for spans in mean["customdata"]] == ["", "<br>engine 0: 3 members<br>engine 1: 2 members"]
    assert chart.table.columns[-1] == "engines"
    assert chart.help.endswith("the members that each engine evaluated, counted from 0.")
    assert [row[-1] for row in chart.table.rows] == ["", "0: 1-2 4; 1: 0 3"]
    assert chart.table.csv().splitlines()[2].endswith(",0: 1-2 4; 1: 0 3")


def test_members_in_too_many_pieces_are_counted_for_each_engine():
    shared = [{"seed": i, "reward": float(i), "engine": i % 2} for i in range(1001)]
    chart = population_chart("es", [(1, shared)], total=1)
    assert chart.table.rows[0][-1] == "0: n = 501; 1: n = 500"


def test_many_engines_are_counted_in_the_hover_text():
    shared = [{"seed": i, "reward": float(i), "engine": i} for i in range(9)]
    chart = population_chart("es", [(1, shared)], total=1)
    assert chart.figure["data"][2]["customdata"][0][4] == "<br>9 engines"


def test_a_population_of_one_engine_has_no_column_of_engines():
    chart = population_chart("es", [(1, members(1, 3))], total=1)
    assert chart.table.columns == ("step", "n", "mean", "min", "max", "spread")
