"""Charts in the order of a layout."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runs.chart_layouts import Card, Layout, arrange, own_card, parse_cards
from runs.charts import Chart, Table
from runs.charts.own import OwnChart


def charts(names: str) -> list[Chart]:
    return [Chart(name, name, "", {}, Table((), ())) for name in names.split()]


def order(names: str, *texts: str, page: str = "experiment") -> str:
    """Return the names of the charts as the layout of these cards arranges them."""
    layout = Layout(page, parse_cards(texts)[0])
    return " ".join(placed.chart.name for placed in arrange(charts(names), layout))


def test_charts_without_cards_keep_their_order() -> None:
    assert order("a b c") == "a b c"
    assert order("a b c", "b:wide", "x:pinned", "y:at1") == "a b c"


def test_pinned_charts_come_first_in_the_order_of_their_cards() -> None:
    assert order("a b c d", "d:pinned", "b:pinned") == "d b a c"


def test_positions_count_charts_that_are_not_pinned() -> None:
    assert order("a b c d", "d:at1") == "d a b c"
    assert order("a b c d", "d:at2", "a:at3") == "b d a c"
    assert order("a b c d", "c:pinned", "a:at2") == "c b a d"
    assert order("a b c d", "a:at99") == "b c d a"


@given(st.permutations("abcdefg"))
def test_positions_of_all_charts_give_any_order(names: list[str]) -> None:
    texts = [f"{name}:at{position}" for position, name in enumerate(names, start=1)]
    assert order("a b c d e f g", *texts) == " ".join(names)


def test_sizes_have_the_default_of_the_page() -> None:
    for page, size in (("experiment", "medium"), ("run", "small")):
        layout = Layout(page, parse_cards(["b:wide"])[0])
        placed = arrange(charts("a b time/phases"), layout)
        assert [chart.size for chart in placed] == [size, "wide", "wide"]
        assert [chart.default_size for chart in placed] == [size, size, "wide"]
        assert [chart.default_position for chart in placed] == [1, 2, 3]


def test_own_charts_are_marked() -> None:
    own = OwnChart(("kl", "kl/k3"))
    layout = Layout("compare", (own_card(own), Card("own:b", "wide")))
    placed = arrange(charts(f"kl own:b {own.name}"), layout)
    assert [chart.is_own for chart in placed] == [False, False, True]
    assert [chart.size for chart in placed] == ["medium", "wide", "medium"]
    assert [chart.code for chart in placed] == ["kl", "own%3Ab", "own:kl,kl/k3"]
    assert layout.own_charts == [own]
