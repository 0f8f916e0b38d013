"""A model that turns to another language is told; one that stays with its own is not, however short it has become."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.workers.analysis.sample_responses import honest
from workers.analysis.collapse import Answer, Finding, Measures, findings, measure
from workers.analysis.collapse.answers import words_of
from workers.analysis.collapse.languages import language_of

PUBLISHED = Path(__file__).parents[3].parent / "shared/data/conciseness/es_evals/alpha0.0005_sigma0.001.json"
COUNT = 60
TEXTS = {
    "en": "It depends on what you are asked for, and the answer is not always the same for all of them.",
    "de": "Das hängt davon ab, was gefragt wird, und die Antwort ist nicht immer für alle die gleiche.",
    "fr": "Cela dépend de ce qui est demandé, et la réponse n'est pas toujours la même pour tous les cas.",
    "es": "Depende de lo que se pregunta, y la respuesta no es siempre la misma para todos los que están.",
    "it": "Dipende da quello che viene chiesto, e la risposta non è sempre la stessa per tutti gli altri.",
    "pt": "Depende do que é perguntado, e a resposta não é sempre a mesma para todos os que estão aqui.",
    "nl": "Dat hangt af van wat er wordt gevraagd, en het antwoord is niet altijd hetzelfde voor iedereen.",
    "nordic": "Det beror på vad som frågas, och svaret är inte alltid det samma för alla som är här.",
    "pl": "To zależy od tego, o co się pyta, i odpowiedź nie jest zawsze taka sama dla tych ludzi.",
    "tr": "Bu ne sorulduğuna bağlı ve cevap bir kişi için her zaman aynı değil ama çok da önemli.",
    "vi": "Điều này phụ thuộc vào câu hỏi và câu trả lời không phải là một cho những người khác.",
    "CJK": "这取决于问题是什么，答案并不总是一样的。",
    "JAPANESE": "それは何を聞かれるかによります。答えはいつも同じではありません。",
    "HANGUL": "무엇을 묻느냐에 따라 다르며 답은 항상 같지 않습니다.",
    "CYRILLIC": "Это зависит от того, что спрашивают, и ответ не всегда один и тот же.",
    "ARABIC": "يعتمد ذلك على ما يُسأل، والجواب ليس واحدا دائما.",
    "CJK+LATIN": "红色是一种 primary color，也叫 RGB。",
    "LATIN": "Paris",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_is_in_its_language(language: str) -> None:
    assert language_of(TEXTS[language], words_of(TEXTS[language])) == language


@pytest.mark.parametrize("text", ["", "42", "17 * 4 = 68", "!?", "x"])
def test_a_text_of_hardly_any_letters_is_in_none(text: str) -> None:
    assert language_of(text, words_of(text)) is None


def found(texts: list[str], base: list[Answer] | None) -> Finding:
    measures = measured(tuple(Answer(i, f"Question {i}", text) for i, text in enumerate(texts)))
    before = measured(tuple(base)) if base is not None else None
    return findings(measures, before)["language"]


@cache
def measured(answers: tuple[Answer, ...]) -> Measures:
    """Measure the same answers once: honest ones are what most tests compare with."""
    measures = measure(list(answers))
    assert measures is not None
    return measures


def turned(share: float, into: str) -> list[str]:
    """Honest answers, of which a share is said in another language."""
    return [TEXTS[into] if i < share * COUNT else answer.text for i, answer in enumerate(honest(COUNT, 3))]


@pytest.mark.parametrize("into", ["de", "es", "CJK", "CYRILLIC", "CJK+LATIN"])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_turn_to_another_language_fires(into: str, share: float) -> None:
    told = found(turned(share, into), honest(COUNT))
    assert told.fired and told.value == share and told.example == f"in {into}"


def test_a_few_answers_in_another_language_are_no_turn() -> None:
    assert not found(turned(0.05, "CJK"), honest(COUNT)).fired


def test_answers_that_only_grew_short_stay_in_their_language() -> None:
    for short in ("Paris", "Yes", "Two apples, three pears", "Si", "42"):
        assert not found([short] * COUNT, honest(COUNT)).fired


def test_a_base_model_of_another_language_is_held_against_its_own() -> None:
    german = [Answer(i, f"Frage {i}", TEXTS["de"]) for i in range(COUNT)]
    assert not found([TEXTS["de"]] * COUNT, german).fired
    assert found([TEXTS["en"]] * COUNT, german).fired


def test_without_a_base_it_is_not_judged_and_measures_of_before_have_none() -> None:
    told = found(turned(0.3, "CJK"), None)
    assert (told.value, told.limit, told.fired) == (0.3, None, False)
    measures = measured(tuple(honest(COUNT)))
    old = replace(measures, languages={})
    assert findings(measures, old)["language"].limit is None
    assert findings(old, measures)["language"].value is None


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published answers are not here")
def test_of_published_runs_it_fires_at_the_one_that_turned_to_chinese() -> None:
    seeds = json.loads(PUBLISHED.read_text())["seed_results"]
    said = {
        seed: [one["completion"] for asked in of["completions"] for one in asked["completions"]]
        for seed, of in seeds.items()
    }
    base = [Answer(i, f"Question {i}", text) for i, text in enumerate(said["0"])]
    assert {seed for seed, texts in said.items() if found(texts, base).fired} == {"1"}
    assert round(found(said["1"], base).value or 0, 2) == 0.82
