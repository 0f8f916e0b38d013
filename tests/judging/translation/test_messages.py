"""Sentences of boards are stored in English and shown in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.translation import trans_real

from judging.stats.ratings import reasons
from judging.stats.ratings.connectivity import Connectivity
from judging.stats.ratings.reasons import SENTENCES, parse_sentences
from judging.translation import messages
from judging.translation.marked import WORDS
from judging.translation.messages import in_words
from tests.cases import each_case

NAMES = ("ada · step 5", "won every comparison: its rating has no upper bound, so it has none. bo", "{who}")
GERMAN = {
    reasons.UNSEEN: "{who} kam in keinem Vergleich vor.",
    reasons.FEW_CLUSTERS: "Nur {clusters} Gruppen ({units} werden gezogen): nimm {few}.",
    reasons.WITHIN: "Nur innerhalb: {sets}.",
    "prompts": "Aufgaben",
    "n/a: they never met": "nie getroffen",
}


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with translation.override("de"):
        monkeypatch.setattr(trans_real._active.value, "gettext", lambda words: GERMAN.get(words, words))
        yield


def test_marked_words_are_up_to_date() -> None:
    marked = Path(messages.__file__).parent / "marked.py"
    assert marked.read_text(encoding="utf-8") == messages.module(), "run: make words"
    assert set(SENTENCES) < set(WORDS)


@each_case("sentence", SENTENCES)
def test_every_sentence_is_recognised_with_its_values(sentence: str) -> None:
    values = dict.fromkeys(reasons.placeholders(sentence), "12 (of ada, bo)")
    assert parse_sentences(sentence.format(**values)) == [(sentence, values)]


def test_several_sentences_are_recognised_with_any_names() -> None:
    sentences = Connectivity(((0, 1), (2,)), ((0, 1), (2,)), (1,), (), (2,)).sentences(NAMES)
    for sentence in sentences:
        assert " ".join(part.format(**values) for part, values in parse_sentences(sentence)) == sentence
    plain = Connectivity(((0, 1), (2,)), ((0, 1), (2,)), (1,), (), (2,)).sentences(("a", "b", "c"))
    assert [part for part, _ in parse_sentences(" ".join(plain))] == [
        reasons.UNSEEN, reasons.UNBEATEN, reasons.UNCONNECTED, reasons.WITHIN,
    ]  # fmt: skip
    assert parse_sentences("What nobody says here.") == []


@pytest.mark.usefixtures("german")
def test_sentences_are_translated() -> None:
    few = reasons.FEW_CLUSTERS.format(clusters=3, units="prompts", few=20)
    assert in_words(few) == "Nur 3 Gruppen (Aufgaben werden gezogen): nimm 20."
    both = f"{reasons.UNSEEN.format(who='ada')} {reasons.WITHIN.format(sets='bo, eve; dee, fay')}"
    assert in_words(both) == "ada kam in keinem Vergleich vor. Nur innerhalb: bo, eve; dee, fay."
    assert in_words("n/a: they never met") == "nie getroffen"
    assert in_words("A host said: no.") == "A host said: no."
