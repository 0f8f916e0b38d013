"""Readers of the environment: accepted values and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from esweb import env

NAME = "ESWEB_TEST_VALUE"


@pytest.fixture
def value(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Remove the variables of these names that the shell may have."""
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.delenv(f"{NAME}_FILE", raising=False)
    return monkeypatch


def test_missing_variable_has_the_default(value: pytest.MonkeyPatch) -> None:
    assert env.text(NAME, "blue") == "blue"
    assert env.number(NAME, 3) == 3
    assert env.flag(NAME, True) is True
    assert env.secret(NAME) == ""
    assert env.folder(NAME, Path("/var/esweb")) == Path("/var/esweb")


@pytest.mark.parametrize(("text", "meant"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("", False)])
def test_flag_accepts_the_usual_words(value: pytest.MonkeyPatch, text: str, meant: bool) -> None:
    value.setenv(NAME, text)
    assert env.flag(NAME, not meant) is meant


@pytest.mark.parametrize("text", ["2", "maybe", "tru"])
def test_a_flag_refuses_other_words(value: pytest.MonkeyPatch, text: str) -> None:
    value.setenv(NAME, text)
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be 1 or 0 .* not '{text}'"):
        env.flag(NAME)


@pytest.mark.parametrize(("text", "rule"), [("many", "whole number"), ("1.5", "whole number"), ("0", "at least 1")])
def test_invalid_number_is_refused_with_the_rule(value: pytest.MonkeyPatch, text: str, rule: str) -> None:
    value.setenv(NAME, text)
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be .*{rule}"):
        env.number(NAME, 5, at_least=1)


def test_words_are_separated_by_commas(value: pytest.MonkeyPatch) -> None:
    value.setenv(NAME, "a.example , b.example,,")
    assert env.words(NAME) == ["a.example", "b.example"]


def test_a_secret_may_lie_in_a_file(value: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush\n")
    value.setenv(f"{NAME}_FILE", str(tmp_path / "secret"))
    assert env.secret(NAME) == "hush"


def test_secret_given_twice_is_refused(value: pytest.MonkeyPatch) -> None:
    value.setenv(NAME, "hush")
    value.setenv(f"{NAME}_FILE", "/run/secrets/it")
    with pytest.raises(ImproperlyConfigured, match="both set"):
        env.secret(NAME)


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read: No such file"), ("  \n", "is empty")])
def test_a_secret_file_that_holds_none_is_named(
    value: pytest.MonkeyPatch, tmp_path: Path, content: str | None, message: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    value.setenv(f"{NAME}_FILE", str(file))
    with pytest.raises(ImproperlyConfigured, match=f"{file}.* {message}"):
        env.secret(NAME)
