"""Runs the node program on other nodes of a Ray cluster, as actors in a placement group. Only Ray and the stdlib.

    RAY_PYTHON ray_actors.py SETTINGS

Ray's Python needs none of esweb's packages, so this is run as a file. SETTINGS is JSON, from ray_job.py. It ends with
the training process, its parent, and with it end the placement group, the actors and their programs.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# The folder of this file holds modules of esweb, which must not hide those of Ray, here or in its actors.
if __name__ == "__main__":
    sys.path.pop(0)
import ray  # type: ignore[import-not-found]
from ray.util.placement_group import (  # type: ignore[import-not-found]
    PlacementGroup,
    placement_group,
    placement_group_table,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # type: ignore[import-not-found]

NODE_LABEL = "ray.io/node-id"
VISIBLE = "_VISIBLE_DEVICES"
"""End of the names of variables with the GPUs that a process may see, such as CUDA_VISIBLE_DEVICES."""
PR_SET_PDEATHSIG = 1
PARENT_GONE = 77
POLL_SECONDS, WATCH_SECONDS = 5.0, 0.5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
STABLE_SECONDS = 60.0
"""A program that ran for so long is started again after the first pause."""


class NodeActor:
    """Runs the node program on the node of one bundle. Ray has named the bundle's GPUs in its environment."""

    def run(self, argv: list[str], environment: dict[str, str], directory: str) -> str:
        """Run the program until it ends. Return how it ended, to complete `the program …`."""
        visible = {name: value for name, value in os.environ.items() if name.endswith(VISIBLE)}
        try:
            # The kernel ends the program with the thread that starts it, which waits here.
            code = subprocess.Popen(
                argv,
                cwd=directory,
                # A run without GPUs has hidden those of the node.
                env={**visible, **environment},
                stdin=subprocess.DEVNULL,
                preexec_fn=_ends_with_parent(),
            ).wait()
        except (OSError, subprocess.SubprocessError) as error:
            return f"could not be started: {error}"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


class NodeRun:
    """The node program of one node: it is started again whenever it ends, after a pause that grows.

    `contact` is the file of the training process, which removes it before it lets the programs end.
    """

    def __init__(self, number: int, contact: Path, start: Callable[[], Any]) -> None:
        self.number, self._contact, self._start = number, contact, start
        self._pause = FIRST_PAUSE_SECONDS
        self.begin()

    def begin(self) -> None:
        """Start the program. `result` is Ray's reference to its end."""
        self.result, self.began_at, self.begins_at = self._start(), time.monotonic(), 0.0

    def check(self) -> None:
        """Start the program again if it has ended and the pause is over. Raise RayError if the actor is lost."""
        now = time.monotonic()
        if self.begins_at:
            if now >= self.begins_at:
                self.begin()
        elif ray.wait([self.result], timeout=0)[0] and _is_there(self._contact):
            if now - self.began_at > STABLE_SECONDS:
                self._pause = FIRST_PAUSE_SECONDS
            log(f"node {self.number}: the program {ray.get(self.result)}; it starts again in {self._pause:.0f} s")
            self.begins_at, self._pause = now + self._pause, min(LONGEST_PAUSE_SECONDS, 2 * self._pause)


class NodeGroup:
    """A placement group with one bundle on each other node."""

    def __init__(self, count: int, bundle: dict[str, float]) -> None:
        self._own, self._bundle, self._count = ray.get_runtime_context().get_node_id(), bundle, count
        self.group: PlacementGroup = placement_group(
            [bundle] * count,
            strategy="STRICT_SPREAD",
            bundle_label_selector=[{NODE_LABEL: f"!{self._own}"}] * count,
        )
        self._state = "CREATED"

    def report(self) -> None:
        """Print a line if the group has begun to wait for a node, or waits no more."""
        state = str(placement_group_table(self.group)["state"])
        if state == self._state:
            return
        self._state = state
        needs = ", ".join(_describe(name, amount) for name, amount in self._bundle.items())
        others = f"{self._count} other node{'' if self._count == 1 else 's'}"
        if state == "CREATED":
            log(f"Ray has reserved {needs} on {others}")
        else:
            log(f"waiting for Ray to have {needs} free on {others}; it has {self._large_nodes()} that large")

    def is_ready(self) -> bool:
        """Return whether all bundles have a node, after a short wait."""
        return bool(self.group.wait(POLL_SECONDS))

    def actor(self, index: int) -> Any:
        """Create the actor on the node of a bundle. Ray starts it again, on another node if that one is lost."""
        needs = dict(self._bundle)
        return (
            ray.remote(NodeActor)
            .options(
                num_cpus=needs.pop("CPU", 0),
                num_gpus=needs.pop("GPU", 0),
                memory=needs.pop("memory", None),
                resources=needs,
                max_restarts=-1,
                max_task_retries=-1,
                scheduling_strategy=PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=index),
            )
            .remote()
        )

    def _large_nodes(self) -> int:
        others = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != self._own]
        return sum(all(total.get(name, 0) >= amount for name, amount in self._bundle.items()) for total in others)


def main() -> None:
    """Run the node programs until the training process ends."""
    settings = json.loads(sys.argv[1])
    environment, contact = _node_environment(os.environ, "GPU" in settings["bundle"]), Path(settings["contact"])
    threading.Thread(target=_end_with_training, args=(os.getppid(), contact), daemon=True).start()
    # Workers look for modules in the current folder of this process too.
    os.chdir("/")
    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="warning")
    # Ray sends this signal to all processes of a job that is stopped; the training decides when the others stop.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    group = NodeGroup(settings["count"], settings["bundle"])
    while not group.is_ready():
        group.report()

    def run(index: int) -> NodeRun:
        actor, argv = group.actor(index), [*settings["argv"], f"--node={index + 1}"]
        return NodeRun(index + 1, contact, lambda: actor.run.remote(argv, environment, settings["directory"]))

    runs = [run(index) for index in range(settings["count"])]
    while True:
        group.report()
        for node_run in runs:
            node_run.check()
        time.sleep(FIRST_PAUSE_SECONDS)


def log(message: str) -> None:
    """Print a line into the run's log."""
    print(f"esweb: {message}", file=sys.stderr, flush=True)


def _node_environment(environment: Mapping[str, str], has_gpus: bool) -> dict[str, str]:
    """Return the variables of the node program: those of the training process, without what belongs to its node."""
    variables = {
        name: value for name, value in environment.items() if not name.startswith("RAY_") and not name.endswith(VISIBLE)
    }
    return variables if has_gpus else {**variables, f"CUDA{VISIBLE}": ""}


def _end_with_training(parent: int, contact: Path) -> None:
    """End this process once its parent has ended, or has removed the file by which nodes find it."""
    while os.getppid() == parent and _is_there(contact):
        time.sleep(WATCH_SECONDS)
    os._exit(0)


def _is_there(file: Path) -> bool:
    """Return whether the file exists, or its disk does not answer."""
    try:
        return file.exists()
    except OSError:
        return True


def _ends_with_parent() -> Callable[[], None]:
    """Return a function for the child, between fork and exec, by which the kernel ends it with its parent's thread."""
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def end_with_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if os.getppid() != parent:
            os._exit(PARENT_GONE)

    return end_with_parent


def _describe(name: str, amount: float) -> str:
    """Return a text such as "2 GPU"; the name alone of a resource that only selects nodes."""
    if name == "memory":
        return f"{amount / 2**20:.0f} MB of memory"
    return name if amount < 1 else f"{amount:g} {name}"


if __name__ == "__main__":
    main()
