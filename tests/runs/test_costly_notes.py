"""A note of 100 000 characters is shown whole, in a bounded time, whatever it consists of."""

from __future__ import annotations

import html
from time import thread_time

from runs.templatetags.format import is_costly, markdown
from tests.cases import each_case

LENGTH = 100_000
UNITS = (
    "[", "[a](", "*a* ", "**a", "_a ", "- a\n", "1. a\n", "> a\n", "|a|b|\n", "# a\n", "```\na\n", "![a](b)", "~~a ",
    "[a]: b\n", "<http://a ", "x", "a sentence of some words. ",
)  # fmt: skip
TABLES = (
    "|a" * 2000 + "|\n" + "|-" * 2000 + "|\n" + "b\n" * 40, "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + "b\n" * 20_000,
    "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "|b\n" * 60,
)  # fmt: skip
MOST_SECONDS = 3.0
"""Ten times what the costliest of these notes takes."""


@each_case("text", ["[" * LENGTH, "- a\n" * 25_000, "[a](" * 25_000, *TABLES[:2]])
def test_costly_note_is_shown_as_it_was_written(text: str) -> None:
    rendered = markdown(text)
    assert f"<pre>{html.escape(text)}</pre>" in rendered
    assert "shown as plain text" in rendered


@each_case("text", [*((unit * LENGTH)[:LENGTH] for unit in UNITS), *TABLES])
def test_longest_note_is_rendered_in_bounded_time(text: str) -> None:
    start = thread_time()
    markdown(text)
    assert thread_time() - start < MOST_SECONDS


def test_long_prose_with_lists_and_a_table_is_formatted() -> None:
    section = "## Results\n\nThe reward *rose*.\n\n- a\n- [b](https://a.example)\n\n|k|v|\n|-|-|\n|kl|0.1|\n\n"
    text = section * 200 + "A sentence of prose without any signs of Markdown. " * 1500
    assert not is_costly(text)
    assert markdown(text).count("<table>") == 200
