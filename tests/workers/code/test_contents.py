"""One sha256 over the package: of its files and their names, and of nothing else."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

from workers.code import fingerprint, listing


def test_a_changed_line_and_a_changed_name_make_other_code(package: Path) -> None:
    seen = {fingerprint(package)}
    with (package / "train.py").open("a") as file:
        file.write("# one more\n")
    seen.add(fingerprint(package))
    (package / "train.py").rename(package / "trains.py")
    seen.add(fingerprint(package))
    assert len(seen) == 3


def test_what_python_compiles_and_what_is_hidden_make_no_other_code(package: Path) -> None:
    before = fingerprint(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "train.cpython-311.pyc").write_bytes(b"\x00")
    (package / ".train.py.swp").write_bytes(b"\x00")
    assert fingerprint(package) == before


def test_it_can_be_found_by_hand(package: Path) -> None:
    text = listing(package)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet"], input=text, cwd=package.parent, text=True, check=False
    )
    assert checked.returncode == 0
    assert sha256(text.encode()).hexdigest() == fingerprint(package)
