"""The regular expressions of production code take linear time, on texts made from each of them to be the worst.

One match holds Python's interpreter lock: a quadratic expression on a text of a user or a model stops all requests.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterable, Iterator

import pytest

from runs.compare.run_table import language
from runs.importing.hyperparameters import MAX_STATED_NAME_LENGTH
from runs.importing.readers import log_lines
from tests.cases import each_case
from tests.processor_time import MAX_CALLS, MAX_GROWTH, MIN_SECONDS, without_collection
from tests.security.expressions import UNKNOWN_USE, Expression, NotConstant, collect, expressions_of, sources
from tests.security.worst_inputs import COMMON, Attack, attacks
from tests.soak_plugin import rounds, seed

SHORT, LONG = 2_000, 6_000
"""Characters of a text: all expressions read short ones; what takes long is measured at LONG and at twice LONG."""
SUSPECT_SECONDS_A_CHARACTER = 2e-7
MAX_QUARTER_GROWTH = 7.0
"""Of the time of a text of four times the length: 4 if it is linear, 16 if quadratic."""
MAX_SECONDS = 0.2
"""Of one match, after which it is cancelled: a linear one takes milliseconds."""
MAX_BOUNDED_SECONDS = 0.15
"""Of one match of a text whose length is limited; those here take up to 0.04 s."""
BOUNDED = {
    "runs/compare/run_table/language.py QUOTED": (language.MAX_LINE_LENGTH, "parse refuses longer lines"),
    "runs/importing/hyperparameters.py REMARK": (MAX_STATED_NAME_LENGTH, "canonical_name cuts names to this"),
    "runs/importing/readers/log_lines.py LABEL_END": (log_lines.MAX_LABEL_LENGTH, "the text before is cut to this"),
}
"""Place -> the length that its callers enforce, and how. Such an expression must be quick at that length."""
SINGLE_LINES = {"runs/importing/readers/log_lines.py ARRAY"}
"""Places whose expression reads lines of a log, which have no line break."""


class Cancelled(Exception):
    """A match that took longer than MAX_SECONDS."""


@pytest.fixture(autouse=True)
def cancellation() -> Iterator[None]:
    """Let the timer of the processor time cancel a match, which collecting garbage must not use up."""

    def cancel(*_: object) -> None:
        raise Cancelled

    before = signal.signal(signal.SIGVTALRM, cancel)
    with without_collection():
        yield
    signal.signal(signal.SIGVTALRM, before)


def seconds_of(expression: Expression, method: str, text: str) -> float:
    """Return the processor time of the method; infinity if it was cancelled."""
    subject = text.encode() if isinstance(expression.pattern.pattern, bytes) else text
    apply = getattr(expression.pattern, method)
    arguments = (subject[:0], subject) if method in {"sub", "subn"} else (subject,)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    started_at = time.thread_time()
    try:
        for _ in apply(*arguments) if method == "finditer" else [apply(*arguments)]:
            pass
        return time.thread_time() - started_at
    except Cancelled:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def is_suspect(expression: Expression, method: str, attack: Attack, length: int) -> bool:
    """Return whether a match takes so long that its growth must be measured. Almost all do not."""
    short = seconds_of(expression, method, attack.text(length))
    if short < SUSPECT_SECONDS_A_CHARACTER * length:
        return False
    return short > MAX_SECONDS or short > MAX_QUARTER_GROWTH * seconds_of(expression, method, attack.text(length // 4))


def is_linear(expression: Expression, method: str, attack: Attack) -> bool:
    """Return whether the time grows at most linearly with the length of the text."""
    # A long unit is a start every so many characters only, so a quadratic time shows in longer texts.
    scale = min(10, 1 + len(attack.unit) // 10)
    if not is_suspect(expression, method, attack, SHORT * scale):
        return True
    once = twice = float("inf")
    for _ in range(MAX_CALLS):
        once = min(once, seconds_of(expression, method, attack.text(LONG * scale)))
        if once <= MAX_SECONDS:
            twice = min(twice, seconds_of(expression, method, attack.text(2 * LONG * scale)))
        if twice > MAX_SECONDS:
            return False
        if twice < MIN_SECONDS or twice <= MAX_GROWTH * once:
            return True
    return False


def is_quick(expression: Expression, method: str, attack: Attack, length: int) -> bool:
    """Return whether a match of a text of this length takes little time."""
    if not is_suspect(expression, method, attack, min(length, SHORT)):
        return True
    text = attack.text(length)
    return any(seconds_of(expression, method, text) <= MAX_BOUNDED_SECONDS for _ in range(4))


def slow_attacks(expression: Expression, shapes: Iterable[Attack]) -> list[str]:
    """Return what takes too long, at most one text for each method."""
    slow = []
    length, _ = BOUNDED.get(expression.place, (0, ""))
    if expression.place in SINGLE_LINES:
        shapes = [attack for attack in shapes if "\n" not in attack.text(1)]
    for method in sorted(expression.methods):
        for attack in shapes:
            arguments = (expression, method, attack)
            if not (is_quick(*arguments, length) if length else is_linear(*arguments)):
                slow.append(f"{expression.place}: {method} of {expression.pattern.pattern!r} with {attack}")
                break
    return slow


def planted(pattern: str | bytes, flags: int = 0, method: str = "search") -> Expression:
    return Expression("planted", re.compile(pattern, flags), frozenset({method}))


def test_expressions_take_linear_time() -> None:
    expressions = collect()
    assert len(expressions) > 250
    slow = [reason for expression in expressions for reason in slow_attacks(expression, attacks(expression.pattern))]
    assert slow == []


@pytest.mark.soak
def test_expressions_take_linear_time_on_random_texts() -> None:
    expressions = collect()
    for number in rounds(1, "rounds of random texts for each expression"):
        chance = random.Random(seed(1) + number)
        slow = [
            reason
            for expression in expressions
            for reason in slow_attacks(expression, random_attacks(expression, chance))
        ]
        assert slow == []


def random_attacks(expression: Expression, chance: random.Random) -> list[Attack]:
    """Return texts of parts of those that were made from the expression, and of common characters."""
    shapes = attacks(expression.pattern)
    parts = [part for shape in shapes for part in (shape.prefix, shape.unit, shape.prefix + shape.unit) if part]

    def draw(most: int) -> str:
        return "".join(
            chance.choice(parts if chance.random() < 0.6 else COMMON) for _ in range(chance.randint(0, most))
        )

    drawn = [Attack(draw(3), draw(4), draw(2)) for _ in range(100)]
    return [attack for attack in drawn if attack.unit and attack.unit.isascii()]


@each_case(
    "expression",
    [
        planted(r"\s+$"),
        planted(r"^\W*(?:user|bot)\s*:", re.MULTILINE),
        planted(r"begin of a block .* end of a block", method="finditer"),
        planted(r"^(\w|ab?)*!", method="match"),
    ],
)
def test_planted_expression_is_recognized_as_slow(expression: Expression) -> None:
    assert slow_attacks(expression, attacks(expression.pattern))


@each_case(
    "pattern",
    [r"\s+", r"^[^\w\n]*bot\s*:", r"\([^()]*\)", r"a:\s*+[*_]*+\s*+\d", r"^(?>.*?error: ).*bad", r"\d{1,60}x"],
)
def test_planted_expression_is_recognized_as_linear(pattern: str) -> None:
    assert slow_attacks(planted(pattern, re.MULTILINE, "finditer"), attacks(re.compile(pattern, re.MULTILINE))) == []


def test_collection_contains_each_form_of_use() -> None:
    text = """
import re
DIGITS = r"[0-9]"
A, TABLE = re.compile(DIGITS + "+"), [re.compile(word, re.I) for word in ("x", "y")]
class Model:
    field = CharField(validators=[RegexValidator("^a$")])
def function(text, letters):
    first = re.search(rf"{DIGITS}x", text, flags=re.M) or A.fullmatch(text)
    return re.split("[ ,]+", text, 1)
"""
    with pytest.raises(NotConstant, match=r"module\.py A,TABLE, line 4: give a sample"):
        list(expressions_of("module.py", text))
    constant = text.replace(' for word in ("x", "y")', "").replace("word", '"x"')
    rest = {expression.pattern.pattern: expression for expression in expressions_of("module.py", constant)}
    assert {pattern: e.place.removeprefix("module.py ") for pattern, e in rest.items()} == {
        "[0-9]+": "A,TABLE", "x": "A,TABLE", "^a$": "Model", "[0-9]x": "function", "[ ,]+": "function",
    }  # fmt: skip
    assert rest["[0-9]x"].methods == {"search"} and rest["[0-9]x"].pattern.flags & re.MULTILINE
    assert rest["x"].methods == UNKNOWN_USE


def test_modules_use_re_by_its_name() -> None:
    """Another name or library would hide an expression from the collection."""
    hidden = re.compile(r"^\s*(?:from re import|import re as|import regex|from regex|import re2)\b", re.MULTILINE)
    assert [path for path, text in sources().items() if hidden.search(text)] == []
