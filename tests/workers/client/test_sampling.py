from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.workers.training_process import lines, metrics, run_json
from workers.client import processes, record_usage
from workers.client.sampler import Sampler
from workers.records import Metric, RecordWriter, Status
from workers.train import main

pytestmark = pytest.mark.skipif(not processes.PROC.exists(), reason="this machine has no /proc")


@pytest.mark.usefixtures("restored_signals")
def test_training_records_its_system_usage(tmp_path: Path) -> None:
    """Samples follow each other with hardly a pause, so that one may be running at any time, even the last."""
    path, out = run_json(tmp_path, "es-micro", es={"iterations": 2, "population": 4}), tmp_path / "out"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tracking": {"system_seconds": 0.005}}))
    assert main([str(path), "--out", str(out)]) == 0
    samples = metrics(out, "system/cpu_cores")
    assert samples
    assert all(metric.values["system/memory_gb"] > 0 for metric in samples)
    # Its own curves are what they would be without.
    assert [m.step for m in metrics(out, "reward/mean")] == [0, 2]
    assert lines(out)[-1].record == Status("done", progress=1.0), "how it ended is its last record"


def test_sample_is_recorded_at_current_step(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        writer.write(Metric(7, {"x": 1.0}))
        Sampler(writer, 1.0).sample()
    (sample,) = metrics(tmp_path, "system/cpu_cores")
    assert sample.step == 7


def test_zero_interval_disables_sampling(tmp_path: Path) -> None:
    before = threading.active_count()
    with RecordWriter(tmp_path, 0) as writer, record_usage(writer, 0.0):
        assert threading.active_count() == before
    assert lines(tmp_path) == []


def test_failed_sample_is_reported_without_ending_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer = RecordWriter(tmp_path, 0)
    writer.close()
    with record_usage(writer, 0.05):
        wait_until(lambda: "could not be recorded this time" in capfd.readouterr().err, "a report of the failed sample")


def test_threads_write_whole_numbered_lines(tmp_path: Path) -> None:
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
