"""Each number of a set of answers, against what a hand counts."""

import json
from dataclasses import replace
from math import exp, log

import pytest

from tests.workers.analysis.sample_responses import honest
from workers.analysis.collapse import Answer, Measures, measure, one_a_prompt
from workers.analysis.collapse.duplicates import clusters, effective_number
from workers.analysis.collapse.manners import is_cut, leaks, refuses
from workers.analysis.collapse.variety import distinct, gzip_ratio, self_bleu

FOX = "the quick brown fox jumps over the lazy dog and then it sleeps under an old oak until the evening comes"


def said(*texts):
    return [Answer(i, f"Question {i}?", text) for i, text in enumerate(texts)]


def test_a_prompt_that_comes_52_times_counts_once():
    answers = [Answer(i, "The same?", "Yes, it is.") for i in range(52)] + said("No, it is not.")
    found = measure(answers)
    assert (found.answers, found.exact) == (2, 0.0)
    assert {answer.key for answer in one_a_prompt(answers)} == {0}


def test_the_order_of_prompts_does_not_matter():
    answers = honest(40)
    assert measure(answers) == measure(answers[::-1])


def test_exact_is_the_share_of_answers_that_another_prompt_got_too_whatever_their_case():
    assert measure(said("Madrid.", "madrid", "Paris", "Rome")).exact == 0.5


def test_nearly_the_same_are_texts_that_share_most_of_their_shingles():
    words = FOX.split()
    texts = [tuple(words), (*words[:-1], "falls"), tuple(reversed(words)), ("else",), ("else",), ()]
    assert clusters(texts) == [[0, 1], [3, 4], [2], [5]]


def test_clusters_do_not_depend_on_how_many_are_hashed_together(monkeypatch):
    from workers.analysis.collapse import duplicates

    texts = [answer.words for answer in honest(60)]
    whole = clusters(texts)
    monkeypatch.setattr(duplicates, "AT_ONCE", 50)
    assert clusters(texts) == whole


@pytest.mark.parametrize(("sizes", "number"), [([1, 1, 1, 1], 4), ([4], 1), ([2, 1, 1], 4 / 2**0.5)])
def test_the_effective_number_is_the_exponential_of_the_entropy(sizes, number):
    assert effective_number(sizes) == pytest.approx(number)


def test_the_commonest_opening_is_told_with_who_has_it():
    found = measure(said(f"{FOX} one", f"{FOX[:40]} two three", "the quick brown fox jumps", "nothing like it"))
    assert found.opening == 0.5
    assert set(found.examples["opening"].keys) == {0, 1}


def test_a_sentence_counts_once_an_answer_and_a_short_one_not_at_all():
    sentence = "Rivers are kept clean here."
    found = measure(
        said(f"A. {sentence} {sentence}", f"B!\n{sentence.upper()}", "Rivers are clean.", "Rivers are clean.")
    )
    assert found.sentence == 0.5
    assert found.examples["sentence"].text.lower() == sentence.lower()


def test_distinct_ngrams_are_counted_over_so_many_words():
    texts = [("a", "b", "a", "b"), ("a", "b", "c")]
    assert distinct(texts, 1, 7) == pytest.approx(3 / 7)
    assert distinct(texts, 2, 7) == pytest.approx(3 / 5)
    assert distinct(texts, 2, 5) == pytest.approx(2 / 3)
    assert distinct(texts, 1, 8) is None


def test_compression_is_measured_of_so_many_bytes():
    assert gzip_ratio(["x" * 999], 1000) is None
    assert gzip_ratio(["x" * 1000], 1000) > 50
    assert gzip_ratio(["x" * 1000, "more"], 1000) == gzip_ratio(["x" * 1000], 1000)


def test_self_bleu_is_one_of_equal_texts_and_nothing_of_strangers():
    words = tuple(FOX.split())
    assert self_bleu([words, words, words]) == pytest.approx(1)
    assert self_bleu([("a", "b", "c"), ("d", "e", "f")]) == 0
    assert self_bleu([words, ()]) is None


def test_self_bleu_of_two_short_texts_is_what_a_hand_computes():
    # a b c against a b d: 2/3 words; with one added each, (1+1)/(2+1) pairs and (0+1)/(1+1) triples.
    one = exp((log(2 / 3) + log(2 / 3) + log(1 / 2)) / 3)
    assert self_bleu([("a", "b", "c"), ("a", "b", "d")]) == pytest.approx(one)


@pytest.mark.parametrize(
    "text", ["Yes. USER: And?", "ASSISTANT: Well", "Fine.\nHuman: go on", "<|im_start|>user", "x\n### Instruction: do"]
)
def test_markers_of_who_speaks_are_leaks(text):
    assert leaks(said(text)[0])


@pytest.mark.parametrize("text", ["The user: a person", "Operating System: Linux", "An assistant helps.", ""])
def test_other_colons_are_not(text):
    assert not leaks(said(text)[0])


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but no.", "I cannot help with that.", "I can’t do it.", "As an AI language model, I", "Sorry, no.",
     "Unfortunately, I cannot.", "It is not appropriate to do so.", "I am not able to say."],
)  # fmt: skip
def test_refusals_are_known_by_how_they_open(text):
    assert refuses(said(text)[0])


@pytest.mark.parametrize(
    "text", ["I can help with that.", "Sorrow is a feeling.", "It is a river. I cannot say more.", ""]
)
def test_other_answers_are_no_refusals(text):
    assert not refuses(said(text)[0])


def test_an_answer_is_cut_where_its_limit_says_so_else_where_it_ends_within_a_sentence():
    assert is_cut(Answer(0, "?", "Done.", is_cut=True))
    assert not is_cut(Answer(0, "?", f"{FOX} and", is_cut=False))
    assert is_cut(Answer(0, "?", f"{FOX} and"))
    assert not is_cut(Answer(0, "?", f"{FOX}."))
    assert not is_cut(Answer(0, "?", "Madrid"))


def test_numbers_come_back_from_json_as_they_were():
    found = measure(honest(60))
    assert Measures.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.distinct.keys() == {250, 1000}


def test_of_no_answers_there_are_no_numbers():
    assert measure([]) is None


def test_samples_of_one_prompt_share_nothing_with_each_other_and_all_count():
    alike = [Answer(0, "Which?", FOX, sample=n) for n in range(20)]
    found = measure([*alike, *said("Madrid", "Paris")])
    assert (found.answers, found.of, found.prompts) == (22, 22, 3)
    assert (found.exact, found.near, found.opening, found.sentence) == (0, 0, 0, 0)
    assert found.clusters == pytest.approx(22)


def test_samples_that_another_prompt_was_given_too_count_each():
    alike = [Answer(0, "Which?", "Madrid", sample=n) for n in range(3)]
    assert measure([*alike, *said("Madrid", "Paris")]).exact == 4 / 5


@pytest.mark.parametrize(
    "text",
    ["", " \n", "<|endoftext|>", "<|im_end|>\n<|im_start|>", "<s> </s>", "<pad><pad>", "[PAD]", "<end_of_turn>",
     "<｜end▁of▁sentence｜>", "<|eot_id|>"],
)  # fmt: skip
def test_an_answer_of_special_tokens_and_white_space_is_empty_and_leaks_nothing(text):
    (answer,) = said(text)
    assert (answer.is_empty, answer.words, leaks(answer)) == (True, (), False)


@pytest.mark.parametrize("text", [".", "1", "<b>", "Paris<|im_end|>", "a < b and c > d", "<|", "[1]"])
def test_an_answer_with_anything_else_is_not_empty(text):
    assert not said(text)[0].is_empty


def test_more_answers_than_are_looked_at_are_told(monkeypatch):
    from workers.analysis.collapse import measures

    monkeypatch.setattr(measures, "ANSWERS_AT_MOST", 30)
    found = measure([replace(answer, sample=n) for n in range(5) for answer in honest(8, n)])
    assert (found.answers, found.of) == (30, 40)


def test_numbers_that_were_measured_of_one_answer_a_prompt_are_read():
    old = measure(honest(8)).to_json()
    del old["prompts"], old["empty"]
    assert (Measures.from_json(old).prompts, Measures.from_json(old).empty) == (8, 0.0)
