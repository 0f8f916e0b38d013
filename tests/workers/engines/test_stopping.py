"""A request to stop: seen between pieces of work, cuts short what may be, and lets what must finish finish."""

from __future__ import annotations

import threading

import pytest

from workers.engines.stopping import Interrupted, Stop


def test_it_is_set_for_good() -> None:
    stop = Stop()
    assert not stop.is_set()
    stop.check()
    stop.set(15, None)
    stop.set(10, None)
    assert stop.is_set()
    with pytest.raises(Interrupted):
        stop.check()


def test_work_that_may_be_cut_is_cut_where_the_signal_comes_and_not_again_behind_it() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.cuts():
        try:
            stop.set()
            done.append("more")
        finally:
            stop.set()
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_after_a_request_such_work_does_not_begin() -> None:
    stop, done = Stop(), []
    stop.set()
    with pytest.raises(Interrupted), stop.cuts():
        done.append("begun")
    assert done == []


def test_what_must_be_finished_is_finished_first() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.cuts():
        with stop.waits():
            stop.set()
            done.append("written")
        done.append("went on")
    assert done == ["written"]


def test_an_exception_that_was_swallowed_is_raised_at_the_end() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.cuts():
        try:
            stop.set()
        except BaseException:
            done.append("swallowed")
    assert done == ["swallowed"]


def test_what_a_library_makes_of_the_interruption_is_none_of_its_own_errors() -> None:
    stop = Stop()
    with pytest.raises(Interrupted), stop.cuts():
        try:
            stop.set()
        except Interrupted as error:
            raise ModuleNotFoundError("cut short in the middle of an import") from error


def test_outside_such_work_nothing_is_raised() -> None:
    stop = Stop()
    with stop.waits():
        stop.set()
    assert stop.is_set()


def test_in_another_thread_nothing_is_cut_short_and_a_check_raises() -> None:
    stop, done = Stop(), []

    def work() -> None:
        with pytest.raises(Interrupted), stop.cuts():
            stop.set()
            with stop.waits():
                done.append("written")
            stop.check()
            done.append("went on")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["written"]
