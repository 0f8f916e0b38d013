"""Texts of `workers` that pages display are collected for translators."""

from __future__ import annotations

from pathlib import Path

from runs.launching.config_form import SETTINGS, help_of, label
from runs.translation import messages
from runs.translation.marked import WORDS


def test_the_marked_words_are_as_new_as_the_code() -> None:
    marked = Path(messages.__file__).parent / "marked.py"
    assert marked.read_text(encoding="utf-8") == messages.module(), "run: make words"


def test_every_label_and_help_of_the_launch_form_is_among_them() -> None:
    displayed = {
        words for parameter in SETTINGS.values() for words in (label(parameter.path), help_of(parameter)) if words
    }
    assert displayed - set(WORDS) == set()
