"""The installer proves that torch imports, tries the next source if it does not, and says what is missing.

Its sources are folders and indexes of tiny wheels; the network is never asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pip
import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).parent / "uv"
VERSION = (ROOT / "requirements/torch.txt").read_text(encoding="utf-8").partition("==")[2].strip()
WORKS = """
class ones:
    def __init__(self, n): self.value = n
    def __add__(self, other): return ones(self.value * (1 + other))
    def sum(self): return self
    def item(self): return float(self.value)
"""
WITH_CUDA = f"{WORKS}\nclass version:\n    cuda = '13.0'\n"
FOR_CPUS = f"{WORKS}\nclass version:\n    cuda = None\n"
NO_LIBRARY = "libcudart.so.12: cannot open shared object file: No such file or directory"
BROKEN = f"raise ImportError({NO_LIBRARY!r})"
WRONG = WORKS.replace("1 + other", "other")

pytestmark = pytest.mark.skipif(not UV.exists(), reason="uv is not installed beside this Python")


@dataclass(frozen=True)
class Checkout:
    """A copy of the installer with an environment of its own, and the settings of a machine without a network."""

    folder: Path

    @property
    def python(self) -> Path:
        """Return the Python of its environment."""
        return self.folder / ".venv/bin/python"

    def install(self, *sets: str, **settings: object) -> tuple[int, str]:
        """Run the installer. Return its exit status and what it says."""
        ours = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_", "TORCH"))}
        closed = {
            "HOME": self.folder, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": 1, "UV_HTTP_RETRIES": 0,
            "UV_CACHE_DIR": self.folder / "cache", "HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
            "ALL_PROXY": "http://127.0.0.1:9", "TORCH": "cpu", "UV_DEFAULT_INDEX": index(self.folder / "empty"),
        }  # fmt: skip
        environment = ours | {name: str(value) for name, value in (closed | settings).items()}
        argv = ["sh", "requirements/install.sh", *(sets or ("torch",))]
        result = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return result.returncode, result.stderr

    def torch_file(self) -> str:
        """Return the text of the module torch that is installed; empty if none is."""
        files = self.folder.glob(".venv/lib/python*/site-packages/torch/__init__.py")
        return "".join(file.read_text() for file in files)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    requirements = tmp_path / "requirements"
    requirements.mkdir()
    for name in ("install.sh", "torch.txt", "uv.txt"):
        shutil.copy(ROOT / "requirements" / name, requirements / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    (tmp_path / ".venv/bin/uv").symlink_to(UV)
    return Checkout(tmp_path)


def wheels(folder: Path, code: str, version: str = f"{VERSION}+cpu") -> Path:
    """Write a wheel of torch with this code into a folder, and return the folder."""
    folder.mkdir(parents=True)
    info = f"torch-{version}.dist-info"
    files: Mapping[str, str] = {
        "torch/__init__.py": f"__version__ = {version!r}\n{code}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return folder


def index(folder: Path, *sources: Path) -> str:
    """Write an index of packages with the wheels of these folders, and return its address."""
    (folder / "torch").mkdir(parents=True, exist_ok=True)
    links = [f'<a href="{file.as_uri()}">{file.name}</a>' for source in sources for file in source.glob("*.whl")]
    if links:
        (folder / "torch/index.html").write_text("\n".join(links))
    return folder.as_uri()


def test_torch_of_a_folder_of_wheels_is_taken_if_it_imports(checkout: Checkout, tmp_path: Path) -> None:
    folder = wheels(tmp_path / "wheels", WORKS)
    assert checkout.install(PIP_FIND_LINKS=folder, PIP_NO_INDEX=1) == (
        0, f"Installing torch {VERSION} from the wheels in {folder} ...\nInstalled: torch\n"
    )  # fmt: skip
    # What works is not installed again.
    assert checkout.install() == (0, "Installed: torch\n")


def test_index_of_cpu_builds_is_tried_if_torch_of_the_folder_does_not_import(
    checkout: Checkout, tmp_path: Path
) -> None:
    folder, cpu = wheels(tmp_path / "wheels", BROKEN), wheels(tmp_path / "cpu", WORKS)
    status, words = checkout.install(UV_FIND_LINKS=folder, TORCH_INDEX=index(tmp_path / "index", cpu))
    assert status == 0, words
    assert f"It cannot be used: ImportError: {NO_LIBRARY}" in words
    assert words.endswith(f"Installing torch {VERSION} from the index of CPU builds ...\nInstalled: torch\n")
    assert "raise ImportError" not in checkout.torch_file()


def test_mirror_is_tried_last_and_replaces_a_version_that_is_not_the_pinned_one(
    checkout: Checkout, tmp_path: Path
) -> None:
    old = wheels(tmp_path / "old", WORKS, "2.0.0")
    subprocess.run([UV, "pip", "install", "-q", "--no-index", "--python", checkout.python, *old.iterdir()], check=True)
    mirror = index(tmp_path / "mirror", wheels(tmp_path / "wheels", WORKS, VERSION))
    # The address of the index of CPU builds is uv's own, which cannot be reached here.
    status, words = checkout.install(UV_INDEX_URL=mirror, UV_DEFAULT_INDEX="")
    assert status == 0, words
    assert [line for line in words.splitlines() if line.startswith("Installing")] == [
        f"Installing torch {VERSION} from the index of CPU builds ...",
        f"Installing torch {VERSION} from the index of all packages ...",
    ]
    assert f"'{VERSION}'" in checkout.torch_file()


def test_installer_fails_and_says_what_is_missing_if_no_source_works(checkout: Checkout, tmp_path: Path) -> None:
    folder = wheels(tmp_path / "wheels", BROKEN)
    status, words = checkout.install(UV_FIND_LINKS=folder, TORCH_INDEX=index(tmp_path / "index", folder))
    assert status == 1
    complaint = words.partition(f"torch {VERSION}, without which nothing trains here")[2]
    tried, _, helps = complaint.partition("One of these")
    assert [line.split(": ")[0] for line in tried.splitlines()[1:]] == [
        f"  - from the wheels in {folder}", "  - from the index of CPU builds", "  - from the index of all packages",
    ]  # fmt: skip
    assert tried.count(NO_LIBRARY) == 2
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"torch-{VERSION}+cpu-{tag}-" in helps and "TORCH_INDEX=" in helps and "make setup TORCH=cuda" in helps
    assert checkout.torch_file() == ""


def test_indexes_are_not_requested_if_they_are_switched_off(checkout: Checkout, tmp_path: Path) -> None:
    folder = wheels(tmp_path / "wheels", WRONG)
    cpu = index(tmp_path / "index", wheels(tmp_path / "cpu", WORKS))
    status, words = checkout.install(PIP_FIND_LINKS=folder, UV_NO_INDEX=1, TORCH_INDEX=cpu)
    assert (status, words.count("Installing torch")) == (1, 1)
    assert "it adds numbers wrongly" in words and "unset UV_NO_INDEX and PIP_NO_INDEX" in words


def test_build_for_cpus_is_replaced_where_cuda_is_requested(checkout: Checkout, tmp_path: Path) -> None:
    packages = next(checkout.folder.glob(".venv/lib/python*/site-packages"))
    # The CUDA build comes by pip, which a real environment has.
    (packages / "pip").symlink_to(Path(pip.__file__).parent)
    cpu = wheels(tmp_path / "cpu", FOR_CPUS)
    subprocess.run([UV, "pip", "install", "-q", "--no-index", "--python", checkout.python, *cpu.iterdir()], check=True)
    mirror = index(tmp_path / "mirror", wheels(tmp_path / "cuda", WITH_CUDA, VERSION))
    status, words = checkout.install(TORCH="cuda", UV_DEFAULT_INDEX=mirror)
    assert status == 0, words
    assert words == f"Installing torch {VERSION} with CUDA, about 3 GB of downloads ...\nInstalled: torch\n"
    assert "cuda = '13.0'" in checkout.torch_file() and "cuda = None" not in checkout.torch_file()


def test_make_replaces_torch_although_everything_is_installed() -> None:
    make = ["make", "--dry-run", "--old-file", ".venv/.installed-web-train", "setup"]
    usual, replaced = (
        subprocess.check_output([*make, f"TORCH={build}"], cwd=ROOT, text=True) for build in ("", "cuda")
    )
    assert "install.sh" not in usual and "requirements/install.sh torch\n" in replaced
