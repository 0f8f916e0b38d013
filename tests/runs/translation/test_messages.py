"""What pages show of `workers` is found by whoever translates them."""

from __future__ import annotations

from pathlib import Path

from runs.launching.config_form import KNOBS, explained, label
from runs.translation import messages
from runs.translation.marked import WORDS


def test_the_marked_words_are_as_new_as_the_code() -> None:
    marked = Path(messages.__file__).parent / "marked.py"
    assert marked.read_text(encoding="utf-8") == messages.module(), "run: make words"


def test_every_label_and_help_of_the_launch_form_is_among_them() -> None:
    shown = {words for knob in KNOBS.values() for words in (label(knob.path), explained(knob)) if words}
    assert shown - set(WORDS) == set()
