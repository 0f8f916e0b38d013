"""A model that changes its language is detected; one that keeps it is not, however short its answers become."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.cases import each_case
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


@each_case("language", TEXTS)
def test_a_text_is_in_its_language(language: str) -> None:
    assert language_of(TEXTS[language], words_of(TEXTS[language])) == language


@pytest.mark.parametrize("text", ["", "42", "17 * 4 = 68", "!?", "x"])
def test_text_without_letters_has_no_language(text: str) -> None:
    assert language_of(text, words_of(text)) is None


def language_finding(texts: list[str], base: list[Answer] | None) -> Finding:
    measures = measured(tuple(Answer(i, f"Question {i}", text) for i, text in enumerate(texts)))
    before = measured(tuple(base)) if base is not None else None
    return findings(measures, before)["language"]


@cache
def measured(answers: tuple[Answer, ...]) -> Measures:
    """Measure the same answers once: honest ones are what most tests compare with."""
    measures = measure(list(answers))
    assert measures is not None
    return measures


def partly_translated(share: float, into: str) -> list[str]:
    """Return honest answers of which a share is in another language."""
    return [TEXTS[into] if i < share * COUNT else answer.text for i, answer in enumerate(honest(COUNT, 3))]


@each_case("into", ["de", "es", "CJK", "CYRILLIC", "CJK+LATIN"])
@each_case("share", [0.3, 1.0])
def test_change_of_language_fires(into: str, share: float) -> None:
    result = language_finding(partly_translated(share, into), honest(COUNT))
    assert result.fired and result.value == share and result.example == f"in {into}"


def test_few_answers_in_another_language_fire_nothing() -> None:
    assert not language_finding(partly_translated(0.05, "CJK"), honest(COUNT)).fired


def test_short_answers_fire_no_language_change() -> None:
    for short in ("Paris", "Yes", "Two apples, three pears", "Si", "42"):
        assert not language_finding([short] * COUNT, honest(COUNT)).fired


def test_language_is_compared_with_that_of_base() -> None:
    german = [Answer(i, f"Frage {i}", TEXTS["de"]) for i in range(COUNT)]
    assert not language_finding([TEXTS["de"]] * COUNT, german).fired
    assert language_finding([TEXTS["en"]] * COUNT, german).fired


def test_language_is_not_judged_without_base_measures() -> None:
    result = language_finding(partly_translated(0.3, "CJK"), None)
    assert (result.value, result.limit, result.fired) == (0.3, None, False)
    measures = measured(tuple(honest(COUNT)))
    old = replace(measures, languages={})
    assert findings(measures, old)["language"].limit is None
    assert findings(old, measures)["language"].value is None


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published answers are not here")
def test_published_run_in_chinese_fires_language_change() -> None:
    seeds = json.loads(PUBLISHED.read_text())["seed_results"]
    texts_by_seed = {
        seed: [answer["completion"] for question in results["completions"] for answer in question["completions"]]
        for seed, results in seeds.items()
    }
    base = [Answer(i, f"Question {i}", text) for i, text in enumerate(texts_by_seed["0"])]
    assert {seed for seed, texts in texts_by_seed.items() if language_finding(texts, base).fired} == {"1"}
    assert round(language_finding(texts_by_seed["1"], base).value or 0, 2) == 0.82
