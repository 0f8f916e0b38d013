from hypothesis import given
from hypothesis import strategies as st

from runs.compare import distinct_names
from runs.compare.labels import LONG_NAME
from tests.cases import each_case


@each_case(
    ("names", "labels"),
    [
        (["concise qwen lora rank 8 first", "concise qwen lora rank 8 second"], ["first", "second"]),
        (["first of the concise qwen runs", "second of the concise qwen runs"], ["first", "second"]),
        (["concise qwen lora es-tiny long", "concise qwen lora grpo-tiny long"], ["es-tiny", "grpo-tiny"]),
        (["concise-qwen-es-tiny-long-run", "concise-qwen-grpo-tiny-long-run"], ["es", "grpo"]),
        (["concise qwen lora rank 8 seed 0", "concise qwen lora rank 8 seed 1"], ["seed 0", "seed 1"]),
        (["concise qwen learning_rate 1e-3", "concise qwen learning_rate 2e-3"],
         ["learning_rate 1e-3", "learning_rate 2e-3"]),
        (["a long name that is a beginning", "a long name that is a beginning of another"],
         ["beginning", "beginning of another"]),
        (["concise · ES, es-tiny, sigma 0.5", "concise · ES, es-tiny, alpha 0.5"], ["sigma", "alpha"]),
    ],
)  # fmt: skip
def test_words_that_all_names_share_at_an_end_are_cut(names, labels):
    assert distinct_names(names) == labels


def test_short_names_and_single_names_stay_whole():
    assert distinct_names(["es-tiny seed 0", "es-tiny seed 1"]) == ["es-tiny seed 0", "es-tiny seed 1"]
    assert distinct_names(["one name that is rather long to read"]) == ["one name that is rather long to read"]
    assert distinct_names([]) == []


def test_equal_names_keep_one_label():
    twice = "concise qwen lora rank 8 first"
    assert distinct_names([twice, twice]) == [twice, twice]
    assert distinct_names([twice, "concise qwen lora rank 8 other", twice]) == ["first", "other", "first"]


def test_names_that_differ_in_a_separator_only_stay_different():
    names = ["concise qwen lora rank-8 first run", "concise qwen lora rank 8 first run"]
    assert len(set(distinct_names(names))) == 2


WORDS = st.lists(st.sampled_from(["concise", "qwen", "seed", "0", "1", "1e-3", "-3", "", "ES"]), max_size=9)
NAMES = st.builds(lambda words, by: by.join(words), WORDS, st.sampled_from([" ", "-", "_", ", ", " · "]))


@given(st.lists(st.one_of(NAMES, st.text(max_size=40)), max_size=5))
def test_labels_are_parts_of_their_names_and_differ_as_they_do(names):
    labels = distinct_names(names)
    assert len(labels) == len(names)
    assert len(set(labels)) == len(set(names))
    for name, label in zip(names, labels, strict=True):
        assert label in name
        assert label or not name
        assert len(name) > LONG_NAME or max(map(len, names)) > LONG_NAME or label == name
