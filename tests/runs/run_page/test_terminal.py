from runs.run_page.log.terminal import Span, Terminal
from tests.cases import each_case


def line(text):
    return Terminal().line(text)


@each_case(
    ("text", "expected"),
    [
        ("10%\r50%\r100%", "100%"),
        ("dos line\r", "dos line"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("bell\x07 and null\x00", "bell and null"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b[2Kcleared", "cleared"),
    ],
)
def test_a_line_is_shown_as_a_terminal_would_leave_it(text, expected):
    assert "".join(span.text for span in line(text)) == expected


def test_colours_and_weights_become_classes():
    assert line("a \x1b[1;31mred\x1b[0m b") == [Span("a "), Span("red", "ansi-red ansi-bold"), Span(" b")]


def test_bright_colours_map_to_plain_ones():
    assert line("\x1b[92mok\x1b[39m.") == [Span("ok", "ansi-green"), Span(".")]


def test_style_continues_over_lines_until_reset():
    terminal = Terminal()
    terminal.line("\x1b[33mwarning")
    assert terminal.line("goes on\x1b[m") == [Span("goes on", "ansi-yellow")]
    assert terminal.line("plain") == [Span("plain")]


def test_a_carriage_return_overwrites_coloured_text_too():
    assert line("\x1b[31m10%\x1b[0m\r\x1b[32m20%\x1b[0m") == [Span("20%", "ansi-green")]


@each_case(
    ("codes", "style"),
    [("38;5;1", "ansi-red"), ("38;5;200", ""), ("38;2;1;31;31", ""), ("48;5;1", ""), ("38", ""), ("7;999", "")],
)
def test_colours_of_the_larger_tables_do_no_harm(codes, style):
    assert line(f"\x1b[{codes}mtext") == [Span("text", style)]
