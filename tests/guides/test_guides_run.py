"""README and guides are executed from top to bottom: every block that is not marked runs as it is printed.

Each has a copy of the checkout, and one site serves all. That site has another address than the usual one, which is
the only text that is replaced. Guides that train or load a model run in `make soak`, except README; tests/workers
has tests of the same programs, and test_guide_commands.py of their options.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
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
"""The page whose blocks run before those of every guide."""
README = ROOT / "README.md"
COPIED = ("workers", "docs", "manage.py")
"""Files and folders that guides read or write next to; all others of the checkout are linked."""
TESTED_COMMANDS = {
    "backup.md", "import.md", "llm-judges.md", "push-records.md", "ratings.md", "ray.md", "report-from-elsewhere.md",
    "slurm.md",
}  # fmt: skip
"""Guides that start manage.py or the library again, for commands and calls that have tests of their own."""
LOADS_MODEL = re.compile(r"-m workers\.(train|check|models|engines)|from transformers")
EXECUTED_PAGES = [
    page
    for page in list_pages()
    if page != SETUP_PAGE and any(not b.is_marked and b.language != "text" for b in read_blocks(page))
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


@pytest.fixture(scope="module")
def setup(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the variables of a shell in which the blocks of SETUP_PAGE have run."""
    folder = tmp_path_factory.mktemp("setup")
    copy_checkout(folder / "checkout", site)
    run_blocks(
        ["set -a", *map(as_shell, read_blocks(SETUP_PAGE)), "env -0 > ../variables"], folder, site.environment, site
    )
    pairs = (folder / "variables").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def test_setup_blocks_run_as_printed(site: Site, setup: Mapping[str, str]) -> None:
    assert (setup["SITE"], setup["ESWEB_URL"]) == (site.url, site.url)
    assert setup["TOKEN"] == setup["ESWEB_TOKEN"] != ""


def is_long(guide: Path) -> bool:
    """Return whether `make test` leaves out a guide: it loads a model, or repeats commands that other tests start."""
    return guide.name in TESTED_COMMANDS or any(
        not block.is_marked and LOADS_MODEL.search(block.text) for block in read_blocks(guide)
    )


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(
            page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.soak] if page != README and is_long(page) else []
        )
        for page in EXECUTED_PAGES
    ],
)
def test_guide_blocks_run_as_printed(guide: Path, site: Site, setup: Mapping[str, str], tmp_path: Path) -> None:
    copy_checkout(tmp_path / "checkout", site)
    environment = setup if needs_setup(guide) else site.environment
    run_blocks([as_shell(block) for block in read_blocks(guide)], tmp_path, environment, site)


def run_blocks(actions: Sequence[str], folder: Path, environment: Mapping[str, str], site: Site) -> None:
    """Run these shell commands in the folder's checkout. The first that fails ends them, and fails the test."""
    script = "set -eEuo pipefail\n" + "\n".join(actions)
    (folder / "guide.sh").write_text(script.replace(PRINTED_ADDRESS, site.url))
    argv = ["bash", str(folder / "guide.sh")]
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            argv, cwd=folder / "checkout", env=dict(environment), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            code = process.wait(PATIENCE_SECONDS)
        finally:
            end_session(process.pid)
        output.seek(0)
        assert code == 0, f"the blocks ended with {code}:\n{output.read()[-6000:]}"


def needs_setup(guide: Path) -> bool:
    """Return whether the blocks of SETUP_PAGE run before those of a guide; README has none."""
    return guide.parent == SETUP_PAGE.parent and any(
        block.language == "sh" and not block.is_marked for block in read_blocks(guide)
    )


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
