"""The run of method probe: each probe of each subject, or of each pair of subjects, is a unit with its own records."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.attempt import write_json
from workers.config import ConfigError, Problem, RunConfig
from workers.config.probe import ProbeConfig
from workers.engines.stop import Stop
from workers.probes.progress import attempts_with, completed_steps, waiting
from workers.probes.units import Unit, Units
from workers.probes.weights import Subject
from workers.probes.weights.open_subjects import Report, open_subjects
from workers.records import Metric, RecordWriter, Status

IDENTITY_FILE = "probe.json"
"""The settings that decide the results of a probe, in the directory of each attempt."""
STEPS_FILE = "probed-steps.json"
"""The steps that are examined, so that a restart examines the same, however far their runs have come meanwhile."""
SCRATCH = "rebuilt"
"""The folder of weights that were rebuilt for the probes, in the attempt's directory; removed at the end."""
IS_COMPLETE = "probe/records"
"""A value of the metric record that ends a unit. The record's step is the unit's number, from 1."""


def probe(config: RunConfig, records: RecordWriter, stop: Stop, report: Report) -> None:
    """Run every unit that has not been recorded yet. Raise ConfigError, RewardFailed and Interrupted.

    A run that is started again, in the same directory or as its next attempt, continues after its last complete unit.
    """
    settings = config.probe or ProbeConfig()
    # As JSON gives it back.
    identity = json.loads(
        json.dumps({k: config.to_json()[k] for k in ("seed", "model", "task", "probe", "evaluation")})
    )
    done = completed_steps(records.directory, IDENTITY_FILE, identity, IS_COMPLETE)
    scratch = records.directory / SCRATCH
    try:
        with stop.interruptible():
            subjects = open_subjects(config, settings, _fixed_steps(records.directory, identity), scratch, report)
        write_json(records.directory / STEPS_FILE, [subject.step for subject in subjects])
        units = list(Units(config, settings, subjects, stop.check, waiting(records, stop), report))
        if not units:
            raise ConfigError([Problem("probe.probes", _no_unit_reason(settings, subjects))])
        for number, unit in enumerate(units, start=1):
            if number not in done:
                _run(unit, number, len(units), records, stop)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(unit: Unit, number: int, total: int, records: RecordWriter, stop: Stop) -> None:
    records.write(Status("probing", unit.title, (number - 1) / total))
    began = time.perf_counter()
    with stop.interruptible():
        results = list(unit.run())
    for result in results:
        records.write(result)
    seconds = time.perf_counter() - began
    values = {IS_COMPLETE: float(len(results)), "probe/units": float(total), "time/probe_seconds": seconds}
    records.write(Metric(number, values))
    print(f"{number}/{total}  {unit.title}  {seconds:.1f} s", flush=True)


def _no_unit_reason(settings: ProbeConfig, subjects: Sequence[Subject]) -> str:
    probes = ", ".join(settings.probes)
    if any(subject.base is None for subject in subjects):
        return f"selects {probes}, which need a base model: set probe.base, or examine runs with probe.runs"
    return f"selects {probes}, which compare two runs; probe.runs names {len(subjects)}"


def _fixed_steps(directory: Path, identity: Any) -> list[int | None]:
    """Return the steps that an earlier start of the run has examined; empty at the first start."""
    for attempt in attempts_with(directory, IDENTITY_FILE, identity):
        if (file := attempt / STEPS_FILE).exists():
            return list(json.loads(file.read_bytes()))
    return []
