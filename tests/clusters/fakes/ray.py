"""Ray's Jobs API as a server in this process. Replies are what Ray 2 sends."""

from __future__ import annotations

import json
import shlex
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.clusters.fakes import agent

CPUS, GPUS = 8, 2
SUBMIT = "POST /api/jobs/"
EXISTS = "Traceback (most recent call last):\n  ...\nValueError: Job with submission_id {} already exists. Please use a"
ENDED = "Job entrypoint command failed with exit code {}, last available logs (truncated to 20,000 chars):\n{}"


class FakeRay(ThreadingHTTPServer):
    """A dashboard. `replies` holds the status and text of the next reply to a method and path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.jobs: dict[str, dict[str, Any]] = {}
        self.bodies: list[dict[str, Any]] = []
        self.signals: list[str] = []
        self.commands: list[str] = []
        self.replies: dict[str, tuple[int, str]] = {}
        self.token, self.is_away, self.loses_submit, self.loses_reply = "", False, False, False
        self.nodes = [{"CPU": float(CPUS), "GPU": float(GPUS), "memory": 8 * 2.0**30}]
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def address(self) -> str:
        """Return the dashboard's address."""
        return f"http://127.0.0.1:{self.server_port}"

    def up(self) -> None:
        """Serve."""
        self._thread.start()

    def down(self) -> None:
        """Stop to serve."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    def start(self, name: str, node: str = "10.0.0.5", **more: Any) -> None:
        """Start the waiting job of that name on a node; its agent begins, unless another one has."""
        job = self.jobs[name]
        assert job["status"] == "PENDING"
        code = agent.begin(self._directory(name), log="log.txt", **more)
        job |= {"status": "RUNNING", "driver_agent_http_address": f"http://{node}:52365"}
        if code is not None:
            job |= {"status": "FAILED", "message": ENDED.format(code, "esweb agent: epoch 0 is over\n")}

    def finish(self, name: str, code: int | None = 0, **record: Any) -> None:
        """End the running job of that name with an exit record."""
        agent.end(self._directory(name), code, **record)
        self.end(name, "SUCCEEDED" if code == 0 else "FAILED", ENDED.format(code, "bye\n") if code else "")

    def end(self, name: str, status: str, message: str = "", error: str | None = None) -> None:
        """End the running job of that name; its agent records nothing."""
        assert self.jobs[name]["status"] == "RUNNING"
        self.jobs[name] |= {"status": status, "message": message, "error_type": error}

    def jobs_of(self, name: str) -> list[dict[str, Any]]:
        """Return the job of that name in a list, or none."""
        return [job for key, job in self.jobs.items() if key == name]

    def forget(self) -> None:
        """Let the head restart: it then knows no job."""
        self.jobs = {}

    def count(self, name: str) -> int:
        """Return how often a request was sent since `commands` was cleared."""
        return self.commands.count(name)

    def refuse_submit(self, reason: str) -> None:
        """Let the next submit be refused."""
        self.replies[SUBMIT] = (400, f"Traceback\n   ^^^^\nTypeError: {reason}\n")

    def lose_submit(self) -> None:
        """Let nobody answer the next submit, which did not arrive."""
        self.loses_submit = True

    def lose_reply_to_submit(self) -> None:
        """Let nobody answer the next submit, which arrived."""
        self.loses_reply = True

    def answer(self, request: str, body: dict[str, Any] | None, token: str) -> tuple[int, str]:
        """Return status and text of the reply; status 0 for none."""
        self.commands.append(request)
        if self.is_away:
            return 0, ""
        if request == SUBMIT and self.loses_submit:
            self.loses_submit = False
            return 0, ""
        if self.token and token != f"Bearer {self.token}":
            return 403, "Forbidden: Invalid authentication token"
        reply = self.replies.pop(request, None) or self._answer(request, body)
        if request == SUBMIT and self.loses_reply:
            self.loses_reply = False
            return 0, ""
        return reply

    def _answer(self, request: str, body: dict[str, Any] | None) -> tuple[int, str]:
        if request == SUBMIT:
            assert body is not None
            return self._submit(body)
        if request == "GET /api/jobs/":
            return 200, json.dumps([*self.jobs.values()])
        if request == "GET /nodes?view=summary":
            raylets = [{"raylet": {"state": "ALIVE", "labels": {}, "resourcesTotal": node}} for node in self.nodes]
            return 200, json.dumps({"data": {"summary": raylets}})
        key = request.split("/")[3]
        if key not in self.jobs:
            return 404, f"Job {key} does not exist"
        if not request.endswith("/stop"):
            return 200, json.dumps(self.jobs[key])
        self.signals += [key] if self.jobs[key]["status"] == "RUNNING" else []
        return 200, json.dumps({"stopped": True})

    def _submit(self, body: dict[str, Any]) -> tuple[int, str]:
        key = body["submission_id"]
        if key in self.jobs:
            return 500, EXISTS.format(key)
        self.bodies.append(body)
        job = {"submission_id": key, "status": "PENDING", "message": "", "error_type": None}
        self.jobs[key] = {**job, "driver_agent_http_address": None, "entrypoint": body["entrypoint"]}
        return 200, json.dumps({"submission_id": key})

    def _directory(self, name: str) -> Path:
        return Path(shlex.split(self.jobs[name]["entrypoint"])[-1])


class _Requests(BaseHTTPRequestHandler):
    """Reply to any method."""

    server: FakeRay

    def do_GET(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = self.headers.get("Authorization") or ""
        status, text = self.server.answer(f"{self.command} {self.path}", json.loads(data or b"null"), token)
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        """Log nothing."""
