"""Tables of typed cells: on pages, as CSV, as LaTeX and as text."""

from __future__ import annotations

import re

from django.template import Context, Template
from django.utils.safestring import SafeString

from runs.tables import (
    SHARES,
    Absent,
    Badge,
    Code,
    Column,
    Drawing,
    Interval,
    Link,
    Mean,
    Note,
    NumberStyle,
    Ranks,
    Table,
    format_table,
    latex,
    table_text,
)

POINTS = NumberStyle("{:.0f}".format, "{:+.0f}".format, rounds=True)
TABLE = Table(
    (
        Column("name", "Name", str),
        Column("rating", "Rating", Interval, POINTS, is_strong=True, help="Elo points"),
        Column("won", "Won", style=SHARES),
        Column("loss", kind=Mean, read_aloud="of the last step"),
        Column("ranks", "Rank", Ranks, parts=("from", "to")),
        Column("state", "State", Badge),
    ),
    (
        ("a <b>", Interval(1034.4, 990.1, 1080.0, 12), 0.25, Mean(0.5, 0.25, 3), Ranks(1, 2), Badge("done", "good")),
        ("=b", Interval(966.0), None, Mean(0.25), None, Badge("open")),
        ("c", None, 1.0, Absent("never trained"), Ranks(3, 3), Link("run", "/runs/c/")),
    ),
)


def drawn(table: Table, arguments: str = '"Ratings" css="wide" caption="All"') -> str:
    page = Template(f"{{% load tables %}}{{% table table {arguments} %}}").render(Context({"table": table}))
    return re.sub(r">\s+<", "><", re.sub(r"\s+", " ", page)).strip()


def test_csv_has_every_digit_in_a_column_for_each_part() -> None:
    assert TABLE.csv().splitlines() == [
        "name,rating value,rating low,rating high,won,loss mean,loss std,loss n,from,to,state",
        "a <b>,1034.4,990.1,1080.0,0.25,0.5,0.25,3,1,2,done",
        "'=b,966.0,,,,0.25,,,,,open",
        "c,,,,1.0,,,,3,3,run",
    ]


def test_latex_merges_the_parts_of_a_cell() -> None:
    lines = latex(TABLE).splitlines()
    assert lines[1] == "\\begin{tabular}{lrrrll}" and lines[3] == "Name & Rating & Won & loss & Rank & State \\\\"
    assert lines[5:8] == [
        r"a \textless{}b\textgreater{} & $1\,034$ $[990, 1\,080]$ & $0.250$ & $0.500 \pm 0.250$ ($n = 3$) & 1--2 & "
        r"done \\",
        r"=b & $966$ & -- & $0.250$ & -- & open \\",
        r"c & -- & $1$ & -- & 3 & run \\",
    ]


def test_text_gives_intervals_a_column() -> None:
    table = TABLE.select("name", "won", rating="points")
    assert table_text(table).splitlines() == [
        "Name      Won  points       interval",
        "a <b>   25.0%   +1034  [+990, +1080]",
        "=b          –    +966",
        "c      100.0%       –",
    ]


def test_page_shows_cells_by_their_type() -> None:
    html = drawn(TABLE)
    assert html.startswith('<div class="scroll" tabindex="0" role="region" aria-label="Ratings"><table class="wide">')
    assert "<caption>All</caption>" in html and '<th scope="col">Name</th>' in html
    assert '<th scope="col" class="number" title="Elo points">Rating</th>' in html
    assert 'loss<span class="only-read-aloud"> of the last step</span></th>' in html
    assert '<th scope="row">a &lt;b&gt;</th>' in html
    for cell in (
        '<strong>1034</strong><small class="quiet">990 … 1080</small><small class="quiet">of 12</small>',
        "25 %", "0.500 ± 0.250", "1–2", "–", '<span class="quiet">never trained</span>',
    ):  # fmt: skip
        assert f'<td class="number">{cell}</td>' in html, cell
    assert '<td><span class="badge tone-good">done</span></td>' in html
    assert '<td><span class="quiet">open</span></td>' in html and '<td><a href="/runs/c/">run</a></td>' in html


def test_cell_has_the_class_of_its_tint() -> None:
    column = Column("won", "Won", tint=lambda value: f"tint{value:.0f}")
    assert '<td class="number tint3">3</td>' in drawn(Table(("name", column), (("a", 3.0),)))


def test_cell_of_several_parts_is_drawn_on_pages_and_in_terminals() -> None:
    strip = Drawing(SafeString("<svg/>"))
    columns = (Column("pair", kind=tuple), Column("won", "Won", Interval, ends=None), Column("kappa", "κ", Interval))
    cells = (Interval(1.5, 1.0, 2.0), Note("n 3"), strip), Interval(0.5, 0.25, 0.75), Absent("never <met>", "n/a")
    table = Table(columns, (cells, (("a", Note("and"), "b"), Absent("unknown", "n/a"), Interval(1.0, 0.0, 2.0))))
    html = drawn(table)
    assert '<td class="number"><span class="quiet">never &lt;met&gt;</span></td>' in html
    assert '1.50 <small class="quiet">1 … 2</small><small class="quiet">n 3</small><svg/></th>' in html
    assert table_text(table).splitlines() == [
        "pair               Won    κ  interval",
        "1.50 [1, 2] n 3  0.500  n/a",
        "a and b            n/a    1    [0, 2]",
    ]


def test_head_holds_links_and_notes_or_nothing() -> None:
    columns = (Column("corner", kind=str, head=""), Column("maths", head=(Link("maths", "?category=maths"), Note("8"))))
    html = drawn(Table(columns, ()), 'labelled_by="title" empty="no rows"')
    assert html.startswith('<div class="scroll" tabindex="0" role="region" aria-labelledby="title"><table><thead>')
    assert '<tr><td></td><th scope="col" class="number"><a href="?category=maths">maths</a><small' in html
    assert '<tbody><tr><td colspan="2">no rows</td></tr></tbody>' in html


def test_columns_of_names_are_aligned_by_their_cells() -> None:
    html = drawn(Table(("key", "step"), (("es/kl", 20000), ("es/kl", 1234.56))), '"Numbers" has_row_heads=False')
    assert '<tr><td>es/kl</td><td class="number">20000</td></tr><tr><td>es/kl</td><td class="number">1 235</td>' in html


def test_stacked_rows_have_roles_and_titles() -> None:
    columns = (Column("at", "At"), Column("name", "Name", str, is_row_head=True), Column("state", "State", Badge))
    html = drawn(Table(columns, ((3, "a", Badge("done", "good", "✓")),)), '"Runs" is_stacked=True')
    assert '<table role="table">' in html and '<tbody role="rowgroup"><tr role="row">' in html
    assert '<td role="cell" data-label="At" class="number">3</td><th scope="row" role="rowheader"' in html
    assert '<td role="cell"><span class="badge tone-good"><span class="sign" aria-hidden="true">✓</span>done' in html


def test_total_is_on_pages_and_in_latex() -> None:
    table = Table((Column("name", "Name", str), "n", Column("of")), (("a", 1, 2.5),), ("Total", 1, None))
    assert table.csv().splitlines() == ["name,n,of", "a,1,2.5"]
    assert latex(table).splitlines()[-4:-2] == ["a & $1$ & $2.50$ \\\\", "Total & $1$ & -- \\\\"]
    assert '<tfoot><tr><th scope="row">Total</th><td class="number">1</td><td class="number"></td></tr>' in drawn(table)
    assert table.select("of", "name").total == (None, "Total")


def test_cell_may_have_several_parts() -> None:
    cell = (Badge("passed", "good", "✓"), Code("1f2e", "<all>"), Absent("n/a", help="no votes"))
    assert (
        '<td><span class="badge tone-good"><span class="sign" aria-hidden="true">✓</span>passed</span>'
        '<code title="&lt;all&gt;">1f2e</code><span class="quiet" title="no votes">n/a</span></td>'
    ) in drawn(Table(("name", Column("result", "Result", str)), (("a", cell),)))


def test_ruled_text_is_aligned_to_the_left() -> None:
    assert format_table(["run", "n"], [["one", "10"]], is_ruled=True) == "run  n\n───  ──\none  10"
