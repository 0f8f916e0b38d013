"""Each number of a set of answers, against what a hand counts."""

import json
from dataclasses import replace
from math import exp, log

import pytest

from tests.cases import each_case
from tests.workers.analysis.sample_responses import honest
from workers.analysis.collapse import Answer, Measures, first_per_prompt, measure
from workers.analysis.collapse.duplicates import clusters, effective_number
from workers.analysis.collapse.response_flags import is_cut, leaks, refuses
from workers.analysis.collapse.variety import distinct, gzip_ratio, self_bleu

FOX = "the quick brown fox jumps over the lazy dog and then it sleeps under an old oak until the evening comes"


def make_answers(*texts):
    return [Answer(i, f"Question {i}?", text) for i, text in enumerate(texts)]


def test_repeated_prompt_counts_once():
    answers = [Answer(i, "The same?", "Yes, it is.") for i in range(52)] + make_answers("No, it is not.")
    measures = measure(answers)
    assert (measures.answers, measures.exact) == (2, 0.0)
    assert {answer.key for answer in first_per_prompt(answers)} == {0}


def test_measures_ignore_order_of_prompts():
    answers = honest(40)
    assert measure(answers) == measure(answers[::-1])


def test_exact_is_share_of_answers_repeated_across_prompts():
    assert measure(make_answers("Madrid.", "madrid", "Paris", "Rome")).exact == 0.5


def test_clusters_join_texts_that_share_shingles():
    words = FOX.split()
    texts = [tuple(words), (*words[:-1], "falls"), tuple(reversed(words)), ("else",), ("else",), ()]
    assert clusters(texts) == [[0, 1], [3, 4], [2], [5]]


def test_clusters_are_independent_of_batch_size(monkeypatch):
    from workers.analysis.collapse import duplicates

    texts = [answer.words for answer in honest(60)]
    whole = clusters(texts)
    monkeypatch.setattr(duplicates, "MAX_HASHED_SHINGLES", 50)
    assert clusters(texts) == whole


@pytest.mark.parametrize(("sizes", "number"), [([1, 1, 1, 1], 4), ([4], 1), ([2, 1, 1], 4 / 2**0.5)])
def test_the_effective_number_is_the_exponential_of_the_entropy(sizes, number):
    assert effective_number(sizes) == pytest.approx(number)


def test_most_common_opening_is_reported_with_its_answers():
    measures = measure(
        make_answers(f"{FOX} one", f"{FOX[:40]} two three", "the quick brown fox jumps", "nothing like it")
    )
    assert measures.opening == 0.5
    assert set(measures.examples["opening"].keys) == {0, 1}


def test_sentence_counts_once_per_answer():
    sentence = "Rivers are kept clean here."
    measures = measure(
        make_answers(f"A. {sentence} {sentence}", f"B!\n{sentence.upper()}", "Rivers are clean.", "Rivers are clean.")
    )
    assert measures.sentence == 0.5
    assert measures.examples["sentence"].text.lower() == sentence.lower()


def test_distinct_ngrams_are_counted_over_fixed_number_of_words():
    texts = [("a", "b", "a", "b"), ("a", "b", "c")]
    assert distinct(texts, 1, 7) == pytest.approx(3 / 7)
    assert distinct(texts, 2, 7) == pytest.approx(3 / 5)
    assert distinct(texts, 2, 5) == pytest.approx(2 / 3)
    assert distinct(texts, 1, 8) is None


def test_gzip_ratio_uses_fixed_number_of_bytes():
    assert gzip_ratio(["x" * 999], 1000) is None
    assert gzip_ratio(["x" * 1000], 1000) > 50
    assert gzip_ratio(["x" * 1000, "more"], 1000) == gzip_ratio(["x" * 1000], 1000)


def test_self_bleu_ranges_from_zero_to_one():
    words = tuple(FOX.split())
    assert self_bleu([words, words, words]) == pytest.approx(1)
    assert self_bleu([("a", "b", "c"), ("d", "e", "f")]) == 0
    assert self_bleu([words, ()]) is None


def test_self_bleu_of_short_texts_matches_computation_by_hand():
    # a b c against a b d: 2/3 words; with one added each, (1+1)/(2+1) pairs and (0+1)/(1+1) triples.
    expected = exp((log(2 / 3) + log(2 / 3) + log(1 / 2)) / 3)
    assert self_bleu([("a", "b", "c"), ("a", "b", "d")]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["Yes. USER: And?", "ASSISTANT: Well", "Fine.\nHuman: go on", "<|im_start|>user", "x\n### Instruction: do"]
)
def test_role_markers_are_leaks(text):
    assert leaks(make_answers(text)[0])


@pytest.mark.parametrize("text", ["The user: a person", "Operating System: Linux", "An assistant helps.", ""])
def test_other_colons_are_not_leaks(text):
    assert not leaks(make_answers(text)[0])


@each_case(
    "text",
    ["I'm sorry, but no.", "I cannot help with that.", "I can’t do it.", "As an AI language model, I", "Sorry, no.",
     "Unfortunately, I cannot.", "It is not appropriate to do so.", "I am not able to say."],
)  # fmt: skip
def test_refusals_are_recognised_by_opening(text):
    assert refuses(make_answers(text)[0])


@pytest.mark.parametrize(
    "text", ["I can help with that.", "Sorrow is a feeling.", "It is a river. I cannot say more.", ""]
)
def test_other_answers_are_no_refusals(text):
    assert not refuses(make_answers(text)[0])


def test_cut_answer_is_recognised_by_flag_or_ending():
    assert is_cut(Answer(0, "?", "Done.", is_cut=True))
    assert not is_cut(Answer(0, "?", f"{FOX} and", is_cut=False))
    assert is_cut(Answer(0, "?", f"{FOX} and"))
    assert not is_cut(Answer(0, "?", f"{FOX}."))
    assert not is_cut(Answer(0, "?", "Madrid"))


def test_measures_round_trip_through_json():
    measures = measure(honest(60))
    assert Measures.from_json(json.loads(json.dumps(measures.to_json()))) == measures
    assert measures.distinct.keys() == {250, 1000}


def test_no_answers_have_no_measures():
    assert measure([]) is None


def test_samples_of_one_prompt_are_not_duplicates():
    alike = [Answer(0, "Which?", FOX, sample=n) for n in range(20)]
    measures = measure([*alike, *make_answers("Madrid", "Paris")])
    assert (measures.answers, measures.of, measures.prompts) == (22, 22, 3)
    assert (measures.exact, measures.near, measures.opening, measures.sentence) == (0, 0, 0, 0)
    assert measures.clusters == pytest.approx(22)


def test_samples_repeated_across_prompts_count_each():
    alike = [Answer(0, "Which?", "Madrid", sample=n) for n in range(3)]
    assert measure([*alike, *make_answers("Madrid", "Paris")]).exact == 4 / 5


@each_case(
    "text",
    ["", " \n", "<|endoftext|>", "<|im_end|>\n<|im_start|>", "<s> </s>", "<pad><pad>", "[PAD]", "<end_of_turn>",
     "<｜end▁of▁sentence｜>", "<|eot_id|>"],
)  # fmt: skip
def test_answer_of_special_tokens_is_empty(text):
    (answer,) = make_answers(text)
    assert (answer.is_empty, answer.words, leaks(answer)) == (True, (), False)


@each_case("text", [".", "1", "<b>", "Paris<|im_end|>", "a < b and c > d", "<|", "[1]"])
def test_an_answer_with_anything_else_is_not_empty(text):
    assert not make_answers(text)[0].is_empty


def test_omitted_answers_are_counted(monkeypatch):
    from workers.analysis.collapse import measures

    monkeypatch.setattr(measures, "MAX_ANSWERS", 30)
    measured = measure([replace(answer, sample=n) for n in range(5) for answer in honest(8, n)])
    assert (measured.answers, measured.of) == (30, 40)


def test_older_measures_are_read():
    old = measure(honest(8)).to_json()
    del old["prompts"], old["empty"]
    assert (Measures.from_json(old).prompts, Measures.from_json(old).empty) == (8, 0.0)
