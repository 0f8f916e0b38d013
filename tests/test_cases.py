"""`each_case` runs every case of a test as one item."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from tests.cases import each_case

CASES = [pytest.param(2, 4, id="two"), (3, 9), (4, 17), (5, 26)]


class Request:
    """A request for fixtures of a test without a database."""

    fixturenames: tuple[str, ...] = ()


def test_failure_names_every_failing_case() -> None:
    @each_case(("number", "square"), CASES)
    def check(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.raises(ExceptionGroup, match=r"2 of 4 cases failed: 2 \(4, 17\), 3 \(5, 26\)") as caught:
        check(Request())
    assert [error.__notes__ for error in caught.value.exceptions] == [["in case 2 (4, 17)"], ["in case 3 (5, 26)"]]


def test_ids_name_the_cases() -> None:
    @each_case("number", [1, 2], ids=["one", "two"])
    def check(number: int) -> None:
        if number == 2:
            pytest.fail("is two")

    with pytest.raises(ExceptionGroup, match="1 of 2 cases failed: two") as caught:
        check(Request())
    assert str(caught.value.exceptions[0]) == "in case two: is two"


def test_other_cases_run_if_one_is_skipped() -> None:
    ran = []

    @each_case("number", [1, 2, 3])
    def check(number: int) -> None:
        if number == 1:
            pytest.skip("no GPU")
        ran.append(number)

    with pytest.raises(pytest.skip.Exception, match=r"1 of 3 cases, all others passed: 0 \(1\): no GPU"):
        check(Request())
    assert ran == [2, 3]


def test_test_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="asserts nothing"):
        each_case("number", [])(lambda number: None)


@each_case("number", range(2))
def test_case_has_its_own_folder_and_patches(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert not hasattr(Request, "number")
    monkeypatch.setattr(Request, "number", number, raising=False)


@each_case("number", range(2))
def test_rows_of_a_case_are_rolled_back(ada: User, number: int) -> None:
    assert set(User.objects.values_list("username", flat=True)) == {"ada"}
    User.objects.create(username=f"bo-{number}")


@each_case("word", ["a", "b"])
@each_case("number", range(3))
def test_cases_can_be_stacked(word: str, number: int) -> None:
    assert len(word * number) == number
