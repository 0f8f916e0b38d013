"""A figure lies in its page as JSON, and nothing in it can end the script that holds it."""

import json

import numpy as np

from runs.templatetags.format import figure

START, END = '<script type="application/json">', "</script>"


def said(value):
    text = figure(value)
    assert text.startswith(START)
    assert text.endswith(END)
    return text[len(START) : -len(END)]


def test_it_is_what_was_drawn():
    value = {"data": [{"x": [0, 1.5, None], "name": "ES · own"}], "layout": {"range": [np.float64(0.5), 1e-7]}}
    assert json.loads(said(value)) == value


def test_names_cannot_leave_it():
    value = {"name": "</script><script>alert(1)</script>&amp;<!--"}
    assert not set("<>&") & set(said(value))
    assert json.loads(said(value)) == value


def test_what_is_no_number_is_a_gap():
    assert json.loads(said({"y": [float("nan"), float("inf"), 1.0]})) == {"y": [None, None, 1.0]}
