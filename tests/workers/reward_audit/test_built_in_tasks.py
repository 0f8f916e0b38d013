"""The audit finds the known exploit of each built-in task, and states where there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workers.reward_audit.audits import audit_in, figures
from workers.records import Attack
from workers.reward_audit.attacks import ATTACKS, CONTROLS

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "audit-reward.md"
TASKS = ("conciseness", "countdown", "choice", "math", "safety")
TOLERANCE = 3
"""Percentage points by which a figure of the guide may differ: the scorer of safety is trained on each machine."""


@dataclass(frozen=True)
class Audit:
    """The attacks of an audit by name, and its figures."""

    attacks: dict[str, Attack]
    figures: dict[str, float]


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Audit]:
    """Return the audits of all built-in tasks with default settings."""
    made = {}
    for task in TASKS:
        folder = tmp_path_factory.mktemp(task)
        made[task] = Audit(audit_in(folder, task), figures(folder))
    return made


def share(attack: Attack) -> float:
    return attack.hits / attack.scaled


def test_guide_has_the_measured_figures(audits: dict[str, Audit]) -> None:
    rows = re.findall(
        r"^\| (\w+) \| (\d+) % \((\d+) … (\d+) %\) \| (\d+) % \| (\d+) % \|", GUIDE.read_text(), re.MULTILINE
    )
    assert [row[0] for row in rows] == list(TASKS)
    keys = ("exploitability", "exploitability/low", "exploitability/high", "unearned", "blind_spots")
    for task, *listed in rows:
        measured = [100 * audits[task].figures[f"audit/{key}"] for key in keys]
        assert list(map(int, listed)) == pytest.approx(measured, abs=TOLERANCE if task == "safety" else 0.5), task


def test_conciseness_pays_wrong_text_of_the_right_length(audits: dict[str, Audit]) -> None:
    attacks = audits["conciseness"].attacks
    length = attacks["same-length"]
    assert (length.verdict, share(length), length.right, length.reward) == ("exploit", 1.0, 0, 0.0)
    assert attacks["right-answer"].way == 1.0 and attacks["right-answer"].right == attacks["right-answer"].n
    # Shorter pays: an empty response earns more than an honest sentence.
    assert (attacks["empty"].way or 0) > (attacks["no-answer"].way or 0) > (attacks["right-sentence"].way or 0)
    values = audits["conciseness"].figures
    assert values["audit/exploitability"] == 1.0 and values["audit/exploitability/low"] > 0.7
    assert values["audit/blind_spots"] == 0.0


def test_countdown_pays_a_part_for_the_format_alone(audits: dict[str, Audit]) -> None:
    attacks = audits["countdown"].attacks
    form = attacks["format"]
    assert (form.verdict, form.hits, form.right) == ("partial", 0, 0)
    assert form.reward == pytest.approx(0.1) and form.way == pytest.approx(0.1 / 1.1)
    assert attacks["right-answer"].reward == pytest.approx(1.1)
    assert attacks["negated"].verdict == "blind-spot"
    assert audits["countdown"].figures["audit/exploitability"] == 0.0


def test_choice_pays_one_letter_everywhere_and_no_list_of_all(audits: dict[str, Audit]) -> None:
    attacks = audits["choice"].attacks
    letter = attacks["symbol"]
    assert letter.response in "ABCDabcd" and letter.verdict == "partial"
    assert letter.way == pytest.approx(letter.right / letter.n) and 0.25 <= letter.right / letter.n < 0.6
    assert letter.hits == 0, "a letter that is right by luck is no wrong response"
    harmless = ("empty", "candidates", "question", "negated", "hedged")
    assert {attacks[name].verdict for name in harmless} == {"harmless"}


def test_math_pays_nothing_without_the_answer_but_does_not_read_negations(audits: dict[str, Audit]) -> None:
    attacks = audits["math"].attacks
    exploits = {name: share(a) for name, a in attacks.items() if a.verdict == "exploit"}
    assert set(exploits) <= {"candidates"} and all(value < 0.2 for value in exploits.values())
    assert share(attacks["negated"]) == 1.0 and attacks["negated"].verdict == "blind-spot"


def test_safety_pays_refusals_and_another_prompts_answer(audits: dict[str, Audit]) -> None:
    attacks = audits["safety"].attacks
    assert attacks["refusal"].verdict == "partial" and attacks["refusal"].known == 0
    assert attacks["other-answer"].verdict == "exploit"
    empty = attacks["empty"]
    assert empty.verdict == "harmless" and (empty.way or 0) < 0
    # The reward is that of the training: R − λ·C with the first λ.
    assert 2.0 < (attacks["right-answer"].reward or 0) < 3.0


def test_audit_makes_every_attack_once_in_its_order(tmp_path: Path) -> None:
    attacks = audit_in(tmp_path, "choice", prompts=4)
    assert list(attacks) == [kind.name for kind in (*CONTROLS, *ATTACKS)]
    assert [attack.step for attack in attacks.values()] == list(range(1, len(attacks) + 1))
    assert {attack.n for attack in attacks.values()} == {4}
