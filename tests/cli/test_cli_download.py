"""`esweb download`: a whole and verified file, or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from esweb_client.cli.errors import AWAY, BAD_INPUT, NOT_FOUND, REFUSED
from runs.models import Run
from tests.cli.conftest import RunCli
from tests.cli.run_files import SHA256, WEIGHTS, save_checkpoint
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.usefixtures("runs_dir", "asgi_server")
def test_selected_or_last_checkpoint_is_downloaded(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    save_checkpoint(run, 5)
    save_checkpoint(run, 12)
    out = tmp_path / "models"
    code, printed, err = run_cli("download", run.uid, "--step", "5", "--out", str(out))
    assert (code, err) == (0, ""), err
    assert printed.startswith(f"{out}/{run.uid}-step-000005.tar  0.7 MB")
    code, printed, _ = run_cli("download", run.uid, "--last", "--out", str(out), "--json")
    result = json.loads(printed)
    assert (code, result["step"], result["sha256"], result["bytes"]) == (
        0, 12, SHA256, Path(result["file"]).stat().st_size,
    )  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == [f"{run.uid}-step-{step:06d}.tar" for step in (5, 12)]
    with tarfile.open(result["file"]) as tar:
        weights = tar.extractfile(f"{run.uid}-step-000012/model.safetensors")
        assert weights is not None and weights.read() == WEIGHTS


@pytest.mark.usefixtures("runs_dir")
def test_progress_is_shown_on_a_terminal(asgi_server: str, run: Run, tmp_path: Path) -> None:
    save_checkpoint(run, 5)
    command = [sys.executable, "-m", "esweb_client.cli", "download", run.uid, "--out", str(tmp_path)]
    reader, terminal = os.openpty()
    try:
        subprocess.run(command, stderr=terminal, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_SECONDS)
        shown = os.read(reader, 100_000).decode()
    finally:
        os.close(reader)
        os.close(terminal)
    assert shown.startswith("\rstep 5  [") and shown.endswith(f"[{'#' * 30}]  100 % of 0.7 MB\r\n")


@pytest.mark.usefixtures("runs_dir", "asgi_server")
def test_missing_checkpoint_is_reported_with_the_available_steps(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    code, _, err = run_cli("download", run.uid, "--out", str(tmp_path))
    assert code == NOT_FOUND and "has no checkpoint that can be downloaded" in err
    save_checkpoint(run, 5)
    save_checkpoint(run, 12)
    code, _, err = run_cli("download", run.uid, "--step", "7", "--out", str(tmp_path))
    assert code == NOT_FOUND and "no checkpoint of step 7; available: 5, 12" in err


@pytest.mark.usefixtures("runs_dir", "asgi_server")
def test_damaged_download_leaves_no_file(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    save_checkpoint(run, 5, sha256="ab" * 32)
    out = tmp_path / "models"
    code, _, err = run_cli("download", run.uid, "--out", str(out))
    assert code == REFUSED and f"but the run recorded {'ab' * 32}" in err
    assert list(out.iterdir()) == []


@pytest.mark.usefixtures("runs_dir", "asgi_server")
def test_unwritable_folder_is_reported(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    save_checkpoint(run, 5)
    (tmp_path / "file").write_text("")
    code, _, err = run_cli("download", run.uid, "--out", str(tmp_path / "file"))
    assert code == BAD_INPUT and "cannot be written" in err and "Traceback" not in err


class BrokenHandler(BaseHTTPRequestHandler):
    """A handler that lists one checkpoint, and closes the connection before the end of its first downloads."""

    breaks: ClassVar[int] = 0
    downloads: ClassVar[int] = 0

    def do_GET(self) -> None:
        body = b"0123456789"
        if not self.path.endswith("/download"):
            item = {"step": 5, "download": "x", "sha256": ""}
            body = json.dumps({"items": [item]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path.endswith("/download"):
            type(self).downloads += 1
            body = body[:4] if self.downloads <= self.breaks else body
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def broken_server(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the command line call a server whose downloads break."""
    BrokenHandler.downloads = 0
    with HTTPServer(("127.0.0.1", 0), BrokenHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("ESWEB_URL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("broken_server")
def test_broken_transfer_is_repeated(run_cli: RunCli, tmp_path: Path) -> None:
    BrokenHandler.breaks = 1
    assert run_cli("download", "x", "--out", str(tmp_path))[0] == 0
    assert (tmp_path / "x-step-000005.tar").read_bytes() == b"0123456789"
    assert BrokenHandler.downloads == 2


@pytest.mark.usefixtures("broken_server")
def test_transfer_that_always_breaks_leaves_no_file(run_cli: RunCli, tmp_path: Path) -> None:
    BrokenHandler.breaks = 3
    assert run_cli("download", "x", "--out", str(tmp_path / "out"))[0] == AWAY
    assert list((tmp_path / "out").iterdir()) == []
