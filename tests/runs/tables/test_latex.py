"""Tables as LaTeX: escaped texts, readable numbers, and means with their width and n in one column."""

from __future__ import annotations

import math

import pytest
from django.test import RequestFactory

from runs.charts import Chart
from runs.http import UnknownChoice, chart_response, table_response
from runs.tables import Column, Interval, Mean, Table, latex
from runs.tables.latex import escape
from tests.cases import each_case


def body(text: str) -> list[str]:
    """Return the rows between the rules, without the head."""
    return text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()


def test_table_has_rules_alignment_and_a_comment() -> None:
    table = Table(("run", "kl"), (("a", 0.5), ("b", None)))
    assert latex(table, ["q=kl<1", "2 rows\n\\input{x}"]) == (
        "% Needs \\usepackage{booktabs}.\n% q=kl<1\n% 2 rows \\input{x}\n"
        "\\begin{tabular}{lr}\n\\toprule\nrun & kl \\\\\n\\midrule\n"
        "a & $0.500$ \\\\\nb & -- \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


def test_table_without_rows_is_complete() -> None:
    assert latex(Table(("run",), ())).endswith("\\midrule\n\\bottomrule\n\\end{tabular}\n")


@each_case(
    ("text", "escaped"),
    [
        ("50% of a_b & #1", r"50\% of a\_b \& \#1"), ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("a\nb\r\nc\x00d", "a b c d"), ("$x^2$ ~", r"\$x\textasciicircum{}2\$ \textasciitilde{}"),
        ("[3pt] *", "{[}3pt] {*}"), ("λ−1", r"$\lambda$$-$1"), ("é", "é"),
    ],
)  # fmt: skip
def test_texts_are_printed_as_they_are(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@each_case(
    ("value", "text"),
    [
        (-0.25, "$-0.250$"), (12345.6, r"$12\,346$"), (0.00012, r"$1.20 \times 10^{-4}$"), (7, "$7$"),
        (math.inf, r"$\infty$"), (-math.inf, r"$-\infty$"), (math.nan, "NaN"), (None, "--"),
    ],
)  # fmt: skip
def test_numbers_are_math(value: float | None, text: str) -> None:
    assert body(latex(Table(("kl",), ((value,),)))) == [f"{text} \\\\"]


def test_mean_width_and_n_are_one_column() -> None:
    columns = ("method", Column("kl", kind=Mean), Column("reward/mean", kind=Mean))
    rows = (("es", Mean(0.25, 0.5, 4), Mean(-1.0, None, 1)), ("grpo", Mean(None, None, 0), Mean(None, None, 3)))
    text = latex(Table(columns, rows))
    assert "\\begin{tabular}{lrr}" in text
    assert "method & kl & reward/mean \\\\" in text
    assert body(text) == [
        "es & $0.250 \\pm 0.500$ ($n = 4$) & $-1$ ($n = 1$) \\\\",
        "grpo & -- ($n = 0$) & -- ($n = 3$) \\\\",
    ]


def test_value_and_interval_are_one_column() -> None:
    columns = ("contestant", Column("rating", kind=Interval), "kl value")
    rows = (("a", Interval(1034.0, 990.0, 1080.0), 0.5), ("b", Interval(966.0), 0.25), ("c", None, None))
    text = latex(Table(columns, rows))
    assert "\\begin{tabular}{lrr}" in text and "contestant & rating & kl value \\\\" in text
    assert body(text) == [
        "a & $1\\,034$ $[990, 1\\,080]$ & $0.500$ \\\\", "b & $966$ & $0.250$ \\\\", "c & -- & -- \\\\",
    ]  # fmt: skip


def test_columns_of_one_name_stay_apart() -> None:
    assert body(latex(Table(("run", "run"), (("a", "b"),)))) == ["a & b \\\\"]


def test_chart_and_table_are_downloads() -> None:
    table = Table(("step", "kl"), ((0, 0.5),))
    request = RequestFactory().get("/", {"as": "latex"})
    for reply in (
        chart_response(request, Chart("kl", "KL", "", {}, table), "My run kl"),
        table_response(request, table, "My run kl"),
    ):
        assert reply["Content-Disposition"] == 'attachment; filename="my-run-kl.tex"'
        assert "$0$ & $0.500$" in reply.content.decode()


def test_unknown_form_of_a_table_names_the_forms() -> None:
    with pytest.raises(UnknownChoice, match="as must be one of csv, latex, not 'pdf'"):
        table_response(RequestFactory().get("/", {"as": "pdf"}), Table((), ()), "x")
