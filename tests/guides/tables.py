"""Tables of guides that tests make from code and data."""

from __future__ import annotations

import os
from pathlib import Path

REWRITE = "ESWEB_REWRITE_GUIDE"
"""Environment variable: if it is set, the tables of guides are written instead of compared."""


def compare_with_guide(guide: Path, name: str, table: str) -> None:
    """Compare a table with the guide's, between the marks of this name; write it there instead if REWRITE is set."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = guide.read_text(encoding="utf-8").partition(begin)
    present, _, after = rest.partition(end)
    made = f"\n\n{table}\n\n"
    if os.environ.get(REWRITE):
        guide.write_text(f"{before}{begin}{made}{end}{after}", encoding="utf-8")
        return
    assert present == made, f"set {REWRITE}=1 and run this test to write the table"
