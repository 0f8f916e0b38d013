"""Count the files of our own that a request enters: those that a reader has to open to follow it.

    python -m benchmarks.files_entered [--list]

A file counts once per operation, whatever is called in it. A profile function (`sys.setprofile`) records the calls
from where Django has chosen the view until its answer is rendered, so the middleware in front does not count, nor does
the import of modules, which a request before has done. "form to executor" is the POST of the launch form and the task
that it enqueues, up to and with the executor's `submit`; "records to rows" is one look of the follower at a file with
new lines. `--list` prints the files of each operation.

"at least" is how many files there would be if those of each package were merged into files of up to 250 lines, whatever
they hold: fewer need longer files, or packages that contracts keep apart.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from benchmarks import results, servers

if TYPE_CHECKING:
    from django.test import Client

    from judging.models import Rubric, Tournament
    from runs.models import Experiment, Run

PACKAGES = ("esweb", "judging", "runs", "workers")
GOALS = {"form to executor": 20, "records to rows": 9, "vote POST": 10, "board GET": 20, "run page GET": 28}
MAX_LINES = 250
PROMPTS = 4


@dataclass
class CallTrace:
    """The files of our own that were entered, by their paths from the root."""

    files: set[str] = field(default_factory=set)

    @property
    def fewest(self) -> int:
        """The number of files if those of each package were merged up to MAX_LINES."""
        lines: Counter[Path] = Counter()
        for name in self.files:
            path = servers.ROOT / name
            lines[path.parent] += len(path.read_text(encoding="utf-8").splitlines())
        return sum(math.ceil(total / MAX_LINES) for total in lines.values())

    @contextmanager
    def recording(self, *, is_request: bool, last: CodeType | None = None) -> Iterator[None]:
        """Record calls, with `last` as the last one; of a request only those behind the middleware."""
        from django.core.handlers.base import BaseHandler

        handler = BaseHandler._get_response.__code__
        inside = 0 if is_request else 1

        def profile(frame: FrameType, event: str, _: Any) -> None:
            nonlocal inside
            if frame.f_code is handler:
                inside += {"call": 1, "return": -1}.get(event, 0)
            elif event == "call" and inside and frame.f_code.co_name != "<module>":
                self._note(frame.f_code.co_filename)
                if frame.f_code is last:
                    sys.setprofile(None)

        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, name: str) -> None:
        path = Path(name)
        if path.is_relative_to(servers.ROOT):
            relative = path.relative_to(servers.ROOT)
            if relative.parts[0] in PACKAGES:
                self.files.add(str(relative))


def trace_operation(
    operation: Callable[[], object],
    trace: CallTrace | None = None,
    *,
    is_request: bool = True,
    last: CodeType | None = None,
) -> CallTrace:
    """Do an operation and record the files that it enters."""
    trace = trace or CallTrace()
    with trace.recording(is_request=is_request, last=last):
        operation()
    return trace


def browser(person: Any) -> Client:
    """Return a client that is signed in."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    return client


def launch_run(experiment: Experiment) -> CallTrace:
    """Launch a run by the form, and submit it as the task does that the form enqueued."""
    from django.urls import reverse

    from runs import enqueue
    from runs.launching.config_form import initial_from
    from runs.launching.tasks import submit_attempt
    from workers.config import presets
    from workers.executors.local import Local

    sent: list[int] = []
    send, enqueue.send = enqueue.send, lambda name, pk, **_: sent.append(pk)
    try:
        values = initial_from(presets()["es-micro"].config).items()
        form = {"preset": "es-micro", "name": "", **{k: v for k, v in values if v is not None and v is not False}}
        client, address = browser(experiment.owner), reverse("launch", args=[experiment.pk])
        trace = CallTrace()
        for seed in range(2):
            trace = trace_operation(_post(client, address, {**form, "seeds": str(seed)}))
            trace_operation(partial(submit_attempt, sent.pop()), trace, is_request=False, last=Local.submit.__code__)
    finally:
        enqueue.send = send
    return trace


def follow_records(site: servers.Site) -> CallTrace:
    """Look at an attempt's file of records, to which lines of metrics were added."""
    from runs.ingest import Follower
    from runs.models import Attempt
    from workers.records import Metric, RecordWriter

    attempt = Attempt.objects.get(key=site.writer().key)
    attempt.directory.mkdir(parents=True)
    follower, trace = Follower(), CallTrace()
    with RecordWriter(attempt.directory, 0) as records:
        for step in range(3):
            records.write(Metric(step, {"reward/mean": 1.0, "kl": 0.1}))
            trace = trace_operation(follower.look, is_request=False)
    return trace


def make_runs(experiment: Experiment) -> list[Run]:
    """Return two runs with curves, and with responses to the same prompts."""
    from runs.ingest import ingest
    from runs.models import Attempt, Cluster, Run
    from workers.records import Line, Metric, Response

    runs, cluster = [], Cluster.objects.get(name="local")
    for k in range(2):
        config = {"method": "es", "seed": k}
        run = Run.objects.create(
            experiment=experiment, name=f"run {k}", method="es", seed=k, config=config, created_by=experiment.owner
        )
        attempt = Attempt.objects.create(run=run, n=1, key=f"esweb-{run.uid}-a1", cluster=cluster, state="succeeded")
        records: list[Any] = [Metric(step, {"reward/mean": float(step), "kl": 0.1}) for step in range(5)]
        records += [
            Response(0, "eval", str(n), 0, f"answer {k}", 3, float(k), prompt=f"Question {n}?") for n in range(PROMPTS)
        ]
        ingest(attempt, 0, [Line(seq, 1.7e9 + seq, record) for seq, record in enumerate(records)])
        runs.append(run)
    return runs


def cast_votes(tournament: Tournament, rubric: Rubric) -> CallTrace:
    """Choose the left response of two pairs."""
    from django.urls import reverse

    from judging.models import Turn

    client, trace = browser(tournament.owner), CallTrace()
    address = reverse("vote-choices", args=[tournament.pk])
    client.get(reverse("vote", args=[tournament.pk]))
    for turn in Turn.objects.filter(comparison__tournament=tournament).order_by("n")[:2]:
        choice = {"key": f"k{turn.pk}", "turn": turn.pk, "rubric": rubric.pk, "said": "left", "seconds": 1.5}
        trace = trace_operation(
            _post(client, address, json.dumps({"choices": [choice]}), content_type="application/json")
        )
    return trace


def open_page(person: Any, address: str) -> CallTrace:
    """Open a page, for the second time."""
    client, trace = browser(person), CallTrace()
    for _ in range(2):
        trace = trace_operation(partial(_request, client.get, address))
    return trace


def _post(client: Client, address: str, data: Any, **more: Any) -> Callable[[], object]:
    return partial(_request, client.post, address, data, **more)


def _request(call: Callable[..., Any], *arguments: Any, **more: Any) -> None:
    """Make a request. Raise ValueError if it is refused: then fewer files are entered than were meant."""
    answer = call(*arguments, **more)
    if answer.status_code not in (200, 302):
        raise ValueError(f"status {answer.status_code}: {answer.content[:500]!r}")


def main(arguments: list[str]) -> int:
    """Measure, record, and return the exit code."""
    with servers.site() as site:
        from django.urls import reverse

        from judging.boards import save_board
        from judging.judges import create_standard_rubrics
        from judging.models import Rubric, Tournament
        from judging.tournaments import Entry, create_tournament

        experiment = servers.experiment()
        runs = make_runs(experiment)
        create_standard_rubrics()
        rubric = Rubric.objects.order_by("pk")[0]
        entries = [Entry(run, 0, "eval") for run in runs]
        new = Tournament(owner=experiment.owner, name="Benchmark")
        tournament = create_tournament(new, entries, [rubric], prompts=PROMPTS)
        traces = {
            "form to executor": launch_run(experiment),
            "records to rows": follow_records(site),
            "vote POST": cast_votes(tournament, rubric),
        }
        save_board(tournament, rubric)
        traces["board GET"] = open_page(experiment.owner, reverse("tournament-board", args=[tournament.pk]))
        traces["run page GET"] = open_page(experiment.owner, runs[0].get_absolute_url())
    for name, trace in traces.items():
        if "--list" in arguments:
            print(f"{name}:", *sorted(trace.files), sep="\n  ")
        results.at_most(name, len(trace.files), GOALS[name], "files")
        results.without_goal(f"{name}, at least", trace.fewest, "files")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
