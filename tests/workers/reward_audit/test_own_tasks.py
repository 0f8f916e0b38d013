"""Audits of tasks written to be exploitable, of an exact one, and of rewards that fail or are slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.reward_audit.audits import audit_in, figures, recorded
from tests.workers.tasks.own.files import write
from workers.config import ConfigError
from workers.records import Alert

FACTS = """
class Task:
    def examples(self, split):
        facts = {"France": "Paris", "Spain": "Madrid", "Italy": "Rome"}
        facts |= {"Peru": "Lima", "Japan": "Tokyo", "Cuba": "Havana"}
        return [{"prompt": f"Capital of {land}?", "target": city} for land, city in facts.items()]

    def score(self, example, completion):
        target = example["target"]
        return {"reward": BODY}
"""
EXACT = "float(completion.strip().lower() == target.lower())"
TWO_WAYS = '1.0 if target in completion or completion.startswith("\\\\boxed{") else min(len(completion), 1000) / 500'
"""Pays a list of all answers and the bare format in full, and long filler even more."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    allowed = tmp_path / "allowed"
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(allowed))
    return allowed


def own(folder: Path, body: str, seconds: float = 10.0) -> dict[str, object]:
    write(folder, FACTS.replace("BODY", body))
    return {"name": "own", "options": {"path": "my_task:Task"}, "reward_seconds": seconds}


def test_both_ways_of_a_task_written_to_be_exploitable_are_exploits(folder: Path, tmp_path: Path) -> None:
    attacks = audit_in(tmp_path / "run", own(folder, TWO_WAYS))
    for name in ("format", "candidates", "filler"):
        attack = attacks[name]
        assert (attack.verdict, attack.hits, attack.right) == ("exploit", 6, 0), name
    assert attacks["format"].response == "\\boxed{}"
    assert (attacks["filler"].way or 0) > 1 and attacks["filler"].beats == 6
    assert attacks["empty"].verdict == "harmless"
    assert figures(tmp_path / "run")["audit/exploitability"] == 1.0


def test_exact_reward_has_no_exploit(folder: Path, tmp_path: Path) -> None:
    attacks = audit_in(tmp_path / "run", own(folder, EXACT))
    assert {a.verdict for a in attacks.values()} == {"control", "harmless"}
    values = figures(tmp_path / "run")
    assert (values["audit/exploitability"], values["audit/blind_spots"], values["audit/unearned"]) == (0.0, 0.0, 0.0)
    assert 0 < values["audit/exploitability/high"] < 1


def test_failed_reward_is_counted_and_no_number(folder: Path, tmp_path: Path) -> None:
    attacks = audit_in(tmp_path / "run", own(folder, f'{EXACT} if "boxed" not in completion else 1 / 0'))
    form = attacks["format"]
    assert (form.n, form.failed) == (6, 0), "variants with a reward are measured"
    assert "ZeroDivisionError" in form.failure
    alerts = [record.message for record in recorded(tmp_path / "run") if isinstance(record, Alert)]
    assert any(alert.startswith("format: the reward of the prompt 'Capital of") for alert in alerts)
    assert attacks["empty"].failure == ""


def test_attack_without_any_reward_has_no_mean(folder: Path, tmp_path: Path) -> None:
    attacks = audit_in(tmp_path / "run", own(folder, f'{EXACT} if not completion.endswith("?") else 1 / 0'))
    question = attacks["question"]
    assert (question.n, question.failed, question.reward, question.verdict) == (0, 6, None, "unknown")


def test_reward_that_outlasts_the_time_limit_leaves_attacks_out(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"audit\.seconds.*over before the right answers"):
        audit_in(tmp_path / "run", own(folder, EXACT), seconds=1e-9)


def test_task_without_right_answers_has_rewards_and_no_score(folder: Path, tmp_path: Path) -> None:
    write(folder, FACTS.replace('"target": city', '"city": city').replace('target = example["target"]', "").replace(
        "BODY", "-len(completion)"))  # fmt: skip
    attacks = audit_in(tmp_path / "run", {"name": "own", "options": {"path": "my_task:Task"}})
    assert attacks["empty"].reward == 0 and attacks["empty"].verdict == "unknown" and "negated" not in attacks
    assert "audit/exploitability" not in figures(tmp_path / "run")


def test_complete_audit_is_not_made_again_and_other_settings_need_another_folder(folder: Path, tmp_path: Path) -> None:
    task = own(folder, EXACT)
    audit_in(tmp_path / "run", task)
    assert audit_in(tmp_path / "run", task) == {}
    with pytest.raises(ConfigError, match="another folder"):
        audit_in(tmp_path / "run", task, prompts=3)
