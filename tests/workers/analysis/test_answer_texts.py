"""Measures of the texts of answers, compared with counts by hand."""

from __future__ import annotations

from workers.analysis.answer_texts import TextCounts, accuracies

PROMPT = "What do you think of the house that we have seen, and is it the one for us?"
ENGLISH = "I think that it is a good house, and that we have seen what there is for us."
GERMAN = "Ich glaube, dass das Haus gut ist und dass wir alles gesehen haben, was es für uns gibt."


def text_counts(*texts: str, prompt: str = PROMPT) -> dict[str, float]:
    counts = TextCounts()
    for text in texts:
        counts.add(text, prompt)
    return counts.values()


def test_characters_are_counted_without_surrounding_space() -> None:
    assert text_counts(" né \n", "", "  ") == {"response/empty_ratio": 2 / 3, "response/characters_mean": 2 / 3} | {
        "response/other_language_ratio": 0.0
    }


def test_language_is_compared_with_that_of_prompt() -> None:
    assert text_counts(ENGLISH, GERMAN, "7", "Да, это хороший дом.")["response/other_language_ratio"] == 2 / 3
    assert "response/other_language_ratio" not in text_counts(ENGLISH, prompt="7 + 8")


def test_nothing_is_measured_without_answers() -> None:
    assert text_counts() == {} and accuracies([]) == {}


def test_accuracy_needs_its_part_in_every_answer() -> None:
    assert accuracies([{"exact": 1.0, "contains": 1.0}, {"contains": 0.0}]) == {"accuracy/contains": 0.5}
