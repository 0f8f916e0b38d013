"""A request to stop: seen between pieces of work, cuts short what may be, and lets what must finish finish."""

from __future__ import annotations

import threading

import pytest

from workers.engines.stop import Interrupted, Stop


def test_stop_stays_set() -> None:
    stop = Stop()
    assert not stop.is_set()
    stop.check()
    stop.set(15, None)
    stop.set(10, None)
    assert stop.is_set()
    with pytest.raises(Interrupted):
        stop.check()


def test_interruptible_work_is_interrupted_once() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.interruptible():
        try:
            stop.set()
            done.append("more")
        finally:
            stop.set()
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_interruptible_work_does_not_begin_after_stop() -> None:
    stop, done = Stop(), []
    stop.set()
    with pytest.raises(Interrupted), stop.interruptible():
        done.append("begun")
    assert done == []


def test_protected_work_is_finished_before_interruption() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.interruptible():
        with stop.uninterruptible():
            stop.set()
            done.append("written")
        done.append("went on")
    assert done == ["written"]


def test_swallowed_interruption_is_raised_at_end() -> None:
    stop, done = Stop(), []
    with pytest.raises(Interrupted), stop.interruptible():
        try:
            stop.set()
        except BaseException:
            done.append("swallowed")
    assert done == ["swallowed"]


def test_library_error_from_interruption_is_interruption() -> None:
    stop = Stop()
    with pytest.raises(Interrupted), stop.interruptible():
        try:
            stop.set()
        except Interrupted as error:
            raise ModuleNotFoundError("cut short in the middle of an import") from error


def test_stop_outside_interruptible_work_raises_nothing() -> None:
    stop = Stop()
    with stop.uninterruptible():
        stop.set()
    assert stop.is_set()


def test_stop_in_another_thread_only_raises_on_check() -> None:
    stop, done = Stop(), []

    def work() -> None:
        with pytest.raises(Interrupted), stop.interruptible():
            stop.set()
            with stop.uninterruptible():
                done.append("written")
            stop.check()
            done.append("went on")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["written"]


def test_sleep_ends_with_a_request() -> None:
    stop = Stop()
    stop.sleep(0)
    request = threading.Timer(0, stop.set)
    request.start()
    with pytest.raises(Interrupted):
        stop.sleep(3600)
    request.join()
    with pytest.raises(Interrupted):
        stop.sleep(0)
