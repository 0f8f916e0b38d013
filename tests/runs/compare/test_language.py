import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.compare.run_table import OPERATORS, QueryError, Term, format_term, parse, remove_term
from runs.compare.run_table.language import MAX_TERMS, Range
from tests.cases import each_case

KEYS = st.from_regex(r"[a-z][a-z0-9_./]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_characters="\x00"), max_size=12)


def test_a_line_is_terms_that_all_must_hold():
    line = 'state:failed,lost es.sigma>0.01 kl<=1 seed:1..3 name~concise -tag:"very old" word'
    assert parse(line) == [
        Term("state", ":", ("failed", "lost")),
        Term("es.sigma", ">", ("0.01",)),
        Term("kl", "<=", ("1",)),
        Term("seed", ":", (Range("1", "3"),)),
        Term("name", "~", ("concise",)),
        Term("tag", ":", ("very old",), negated=True),
        Term("", "~", ("word",)),
    ]


@each_case(
    ("line", "term"),
    [
        ("seed=3", Term("seed", ":", ("3",))),
        ("state!=failed", Term("state", ":", ("failed",), negated=True)),
        ("-state!=failed", Term("state", ":", ("failed",))),
        ("kl:..2", Term("kl", ":", (Range("", "2"),))),
        ('name:"1..3"', Term("name", ":", ("1..3",))),
        ('"two words"', Term("", "~", ("two words",))),
        ('name:"a \\"b\\" \\\\"', Term("name", ":", ('a "b" \\',))),
        ("created>2026-11-01", Term("created", ">", ("2026-11-01",))),
        ("-", Term("", "~", ("-",))),
    ],
)
def test_each_way_of_writing_means_one_thing(line, term):
    assert parse(line) == [term]


@each_case(
    ("line", "at", "message"),
    [
        ("kl<1 <5", 5, "A key must precede <"),
        ("kl<", 0, "A value must follow kl<"),
        ('name:"open kl<1', 5, "not closed"),
        ('a "', 2, "not closed"),
        ("x" * 3000, 2000, "at most 2000 characters"),
        ("a " * (MAX_TERMS + 1), 2 * MAX_TERMS, f"at most {MAX_TERMS} terms"),
    ],
)
def test_error_has_its_position_and_the_valid_choices(line, at, message):
    with pytest.raises(QueryError, match=message) as raised:
        parse(line)
    assert raised.value.problems[0].at == at


def test_all_problems_are_reported_together():
    with pytest.raises(QueryError) as raised:
        parse("kl< :3 seed:")
    assert [p.at for p in raised.value.problems] == [0, 4, 7]


@given(st.text(max_size=100))
def test_any_text_parses_or_raises_a_query_error(line):
    try:
        terms = parse(line)
    except QueryError as error:
        assert all(0 <= p.at <= p.end <= len(line) and p.message.endswith(".") for p in error.problems)
    else:
        assert bool(terms) == bool(line.strip())
        assert all(parse(line[t.at : t.end]) == [t] for t in terms)


@given(KEYS, st.sampled_from(OPERATORS), TEXTS.filter(lambda text: ".." not in text or text == ".."))
def test_formatted_terms_parse_back(key, operator, value):
    (term,) = parse(format_term(key, operator, value))
    assert (term.key, term.values) == (key, (value,))
    assert term.negated == (operator == "!=")


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_alternatives_are_read_back(values):
    assert parse(format_term("tag", ":", *values)) == [Term("tag", ":", tuple(values))]


@given(st.lists(TEXTS.map(lambda text: format_term("name", "~", text)), min_size=1, max_size=3), st.data())
def test_a_term_that_is_taken_out_leaves_the_others(words, data):
    terms = parse(" ".join(words))
    gone = data.draw(st.integers(0, len(terms) - 1))
    assert parse(remove_term(" ".join(words), terms[gone])) == terms[:gone] + terms[gone + 1 :]
