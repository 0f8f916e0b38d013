"""Measure whether a site takes the records of 50 trainings that report through esweb_client, and how soon.

    python -m benchmarks.client_load [CLIENTS [SECONDS]]

The trainings start together, which takes the site some seconds: the measurement begins once all are registered and have
reported their machines.
Each training is a process of its own that logs 20 values ten times a second, as fast trainings do; all run on the
machine of the site. A record is received once this process sees its committed batch in the database, which it looks for
every 20 ms. At the end, the values of each run are compared with those that were logged.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from benchmarks import results, servers
from benchmarks.closed_loop import percentile

CLIENTS, SECONDS = 50, 20
KEYS, HZ = 20, 10
GOAL_SECONDS = 0.5
LOOK_SECONDS = 0.02
LATE_BATCHES = 200
"""Batches before the newest that are looked at again: ids are given before commits, so that an older one may follow."""
CLIENT = f"""
import sys, time
import esweb_client
run = esweb_client.init("load", system_metrics_seconds=15)
while run.uid is None:
    time.sleep(0.05)
print("ready", flush=True)
sys.stdin.readline()
began = time.monotonic()
for step in range(int(sys.argv[1]) * {HZ}):
    run.log({{f"train/key_{{number}}": float(step) for number in range({KEYS})}}, step=step)
    time.sleep(max(0.0, began + (step + 1) / {HZ} - time.monotonic()))
run.finish(timeout=120)
"""


@contextmanager
def clients(count: int, seconds: int, address: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the trainings; they wait for a line before they log. They are killed at the end of the block."""
    from runs import access

    _, token = access.issue(servers.experiment().owner, "report")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        processes = []
        for number in range(count):
            env = os.environ | {"ESWEB_URL": address, "ESWEB_TOKEN": token, "ESWEB_DIR": folder}
            command = [sys.executable, "-c", CLIENT, str(seconds)]
            process = running.enter_context(
                subprocess.Popen(
                    command, env=env | {"ESWEB_RUN_ID": f"load-{number}"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            running.callback(process.kill)
            processes.append(process)
        yield processes


def wait_for_environments(count: int) -> None:
    """Wait until all attempts have reported their environments: then their starts are over."""
    from runs.models import Attempt

    while Attempt.objects.filter(environment__isnull=False).count() < count:
        time.sleep(LOOK_SECONDS)


def receive(processes: Sequence[subprocess.Popen[bytes]]) -> list[float]:
    """Return the seconds from the call to the sight of its committed batch, of each record, until all have ended."""
    from runs.metrics.packing import unpack
    from runs.models import Batch

    delays: list[float] = []
    # What came before the start, such as the usage of the machine, is no part of the load.
    seen = set(Batch.objects.values_list("pk", flat=True))
    newest = max(seen, default=0)
    while True:
        has_ended = all(process.poll() is not None for process in processes)
        late = set(Batch.objects.filter(pk__gt=newest - LATE_BATCHES).values_list("pk", flat=True)) - seen
        now = time.time()
        for batch in Batch.objects.filter(pk__in=late).order_by("pk") if late else ():
            seen.add(batch.pk)
            newest = max(newest, batch.pk)
            delays += [now - t for t in unpack(batch.keys, batch.data).t.tolist()]
        seen = {pk for pk in seen if pk > newest - LATE_BATCHES}
        if has_ended:
            return delays
        time.sleep(LOOK_SECONDS)


def count_errors(steps: int) -> tuple[int, int, int]:
    """Return the number of runs, and of values that are missing and that are stored twice, over all keys and runs."""
    from runs.metrics import since
    from runs.models import Run

    lost = doubled = 0
    runs = list(Run.objects.filter(experiment__name="load"))
    for run in runs:
        counts = {(f"train/key_{number}", float(step)): 0 for number in range(KEYS) for step in range(steps)}
        for _, block in since(run.pk, 0, batches=100_000):
            for key in block.keys:
                if key.startswith("train/"):
                    for value in block.column(key)[1].tolist():
                        counts[key, value] += 1
        lost += sum(count == 0 for count in counts.values())
        doubled += sum(count > 1 for count in counts.values())
    return len(runs), lost, doubled


def main(count: int = CLIENTS, seconds: int = SECONDS) -> int:
    """Measure, record, and return the exit code."""
    with servers.site(), servers.web() as web, clients(count, seconds, web.address) as processes:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        wait_for_environments(count)
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        before = web.cpu_seconds()
        delays = receive(processes)
        spent = web.cpu_seconds() - before
        runs, lost, doubled = count_errors(seconds * HZ)
    load = f"{count} processes × {KEYS} keys × {HZ} Hz × {seconds} s"
    print(f"{load}: {len(delays)} records of {runs} runs, {spent:.1f} s of the server's CPU", flush=True)
    results.at_least("runs of esweb_client that were stored", runs, count, "")
    values = count * KEYS * HZ * seconds
    results.at_least("values stored", values - lost, values, "")
    results.at_least("values stored once", values - lost - doubled, values, "")
    results.at_most(f"log() to commit, p95, {load}", percentile(delays, 0.95), GOAL_SECONDS, "s")
    results.without_goal("log() to commit, median", percentile(delays, 0.5), "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
