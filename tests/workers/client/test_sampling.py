from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.training_process import lines, metrics, run_json
from workers.client import processes, sampling
from workers.client.sampling import Sampler
from workers.records import Metric, RecordWriter, Status
from workers.train import main

pytestmark = pytest.mark.skipif(not processes.PROC.exists(), reason="this machine has no /proc")


@pytest.mark.usefixtures("signals_put_back")
def test_a_training_records_what_it_uses_between_its_own_records(tmp_path: Path) -> None:
    """It is looked at with hardly a pause: a look may be under way at any moment, the last one too."""
    path, out = run_json(tmp_path, "es-micro", es={"iterations": 2, "population": 4}), tmp_path / "out"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tracking": {"system_seconds": 0.005}}))
    assert main([str(path), "--out", str(out)]) == 0
    found = metrics(out, "system/cpu_cores")
    assert found
    assert all(metric.values["system/memory_gb"] > 0 for metric in found)
    # Its own curves are what they would be without.
    assert [m.step for m in metrics(out, "reward/mean")] == [0, 2]
    assert lines(out)[-1].record == Status("done", progress=1.0), "how it ended is its last record"


def test_a_look_stands_at_the_step_that_training_has_reached(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        writer.write(Metric(7, {"x": 1.0}))
        Sampler(writer, 1.0).sample()
    (found,) = metrics(tmp_path, "system/cpu_cores")
    assert found.step == 7


def test_zero_means_never(tmp_path: Path) -> None:
    before = threading.active_count()
    with RecordWriter(tmp_path, 0) as writer, sampling(writer, 0.0):
        assert threading.active_count() == before
    assert lines(tmp_path) == []


def test_a_disk_that_takes_nothing_is_said_and_ends_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer = RecordWriter(tmp_path, 0)
    writer.close()
    with sampling(writer, 0.05):
        wait_until(lambda: "was not recorded this time" in capfd.readouterr().err, "the failed sample to be reported")


def test_two_threads_write_whole_lines_numbered_without_a_gap(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:

        def write() -> None:
            for step in range(500):
                writer.write(Metric(step, {"x": float(step)}))

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(lines(tmp_path)) == 2000
