"""README and guides are executed from top to bottom: every block that is not marked runs as it is printed.

Each has a copy of the checkout, and one site serves all. That site has another address than the usual one, which is
the only text that is replaced.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from esweb.embedded import Postgres, Valkey, hold
from tests import migrated_database
from tests.free_ports import unused_port
from tests.guides.blocks import ROOT, Block, list_pages, read_blocks
from tests.waiting import PATIENCE_SECONDS, wait_until

PRINTED_ADDRESS = "http://127.0.0.1:8000"
SETUP_PAGE = ROOT / "docs" / "guides" / "README.md"
"""The page whose blocks run first in every guide."""
COPIED = ("workers", "docs", "manage.py")
"""Files and folders that guides read or write next to; all others of the checkout are linked."""
EXECUTED_PAGES = [
    page for page in list_pages() if any(not b.is_marked and b.language != "text" for b in read_blocks(page))
]


@dataclass(frozen=True)
class Site:
    """A site without a worker, so that launched runs take no time; and files as readers have them."""

    url: str
    data: Path
    files: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of a reader's shell."""
        site_variables = {"ESWEB_DATA": str(self.data), "HOME": str(self.data), "CURL_HOME": str(self.data)}
        reader_variables = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ESWEB_URL": self.url,
        }
        shared = {"ESWEB_CACHE": os.environ["ESWEB_CACHE"], "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        return site_variables | reader_variables | shared


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("site")
    site = Site(f"http://127.0.0.1:{(port := unused_port())}", data, tmp_path_factory.mktemp("files"))
    migrated_database.copy_to(data, Path(os.environ["ESWEB_CACHE"]))
    # A page that refuses a call ends the guide.
    (data / ".curlrc").write_text("fail-with-body\nsilent\n")
    # `up` does the same: commands then know that the site runs.
    with hold(data):
        servers = Postgres(data, durable=False), Valkey(data, durable=False)
        for server in servers:
            server.start(PATIENCE_SECONDS)
        try:
            stage = [sys.executable, "-m", "tests.guides.site", str(site.files)]
            subprocess.run(stage, cwd=ROOT, env=site.environment, check=True, timeout=PATIENCE_SECONDS)
            with (data / "web.log").open("wb") as log:
                argv = [sys.executable, "-m", "esweb.supervisor.web", f"127.0.0.1:{port}"]
                environment = site.environment | {"DJANGO_SETTINGS_MODULE": "esweb.settings"}
                web = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=log, stderr=log)
            try:
                health = ["curl", "--silent", "--fail", "--output", os.devnull, f"{site.url}/healthz"]
                wait_until(
                    lambda: web.poll() is not None or subprocess.run(health, check=False).returncode == 0,
                    "the site to answer",
                )
                assert web.poll() is None, (data / "web.log").read_text()
                yield site
            finally:
                web.kill()
                web.wait(PATIENCE_SECONDS)
        finally:
            for server in reversed(servers):
                server.stop(PATIENCE_SECONDS)


@pytest.mark.parametrize("guide", EXECUTED_PAGES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_guide_blocks_run_as_printed(guide: Path, site: Site, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    copy_checkout(checkout, site)
    script = "set -eEuo pipefail\n" + "".join(map(as_shell, [*setup_blocks(guide), *read_blocks(guide)]))
    (tmp_path / "guide.sh").write_text(script.replace(PRINTED_ADDRESS, site.url))
    argv = ["bash", str(tmp_path / "guide.sh")]
    with (tmp_path / "output").open("w+") as output:
        process = subprocess.Popen(
            argv, cwd=checkout, env=site.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(PATIENCE_SECONDS)
        finally:
            end_session(process.pid)
        output.seek(0)
        assert code == 0, f"{guide.name} ended with {code}:\n{output.read()[-6000:]}"


def setup_blocks(guide: Path) -> list[Block]:
    """Return the blocks that run before those of a guide; README has none."""
    is_guide = guide.parent == SETUP_PAGE.parent and guide != SETUP_PAGE
    needs_shell = any(block.language == "sh" and not block.is_marked for block in read_blocks(guide))
    return read_blocks(SETUP_PAGE) if is_guide and needs_shell else []


def as_shell(block: Block) -> str:
    """Return the shell commands that a reader would run for a block."""
    if block.is_marked or block.language == "text" or (block.language == "json" and not block.saved_as):
        return ""
    if block.language == "sh":
        action = block.text
    elif block.saved_as:
        action = f"cat > {block.saved_as} <<'END OF BLOCK'\n{block.text}END OF BLOCK\n"
    else:
        action = f"python - <<'END OF BLOCK'\n{block.text}END OF BLOCK\n"
    return f"\necho '--- {block}'\n{action}"


def copy_checkout(checkout: Path, site: Site) -> None:
    """Create a folder that looks like the checkout, with the reader's files."""
    checkout.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in COPIED:
            copy = shutil.copytree if entry.is_dir() else shutil.copy2
            copy(entry, checkout / entry.name)
        elif entry.name not in (".git", ".esweb"):
            (checkout / entry.name).symlink_to(entry)
    shutil.copytree(site.files, checkout, dirs_exist_ok=True)


def end_session(leader: int) -> None:
    """Kill all processes that a guide left running in the background."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
