"""A figure is embedded in its page as JSON, and nothing in it can end the script element that holds it."""

import json

import numpy as np

from runs.templatetags.format import figure

START, END = '<script type="application/json">', "</script>"


def render(value):
    text = figure(value)
    assert text.startswith(START)
    assert text.endswith(END)
    return text[len(START) : -len(END)]


def test_embedded_json_equals_the_figure():
    value = {"data": [{"x": [0, 1.5, None], "name": "ES · own"}], "layout": {"range": [np.float64(0.5), 1e-7]}}
    assert json.loads(render(value)) == value


def test_names_cannot_leave_it():
    value = {"name": "</script><script>alert(1)</script>&amp;<!--"}
    assert not set("<>&") & set(render(value))
    assert json.loads(render(value)) == value


def test_nan_is_a_gap():
    assert json.loads(render({"y": [float("nan"), float("inf"), 1.0]})) == {"y": [None, None, 1.0]}
