"""The languages of the pages: English, which is in the code, and each with a folder in `locale/`."""

from __future__ import annotations

from pathlib import Path

from django.conf.locale import LANG_INFO

ENGLISH = ("en", "English")


def languages(folder: Path) -> list[tuple[str, str]]:
    """Return (code, the language's own name for itself), English first. A folder of a language that Django does not
    know is named by its code."""
    codes = sorted(path.parent.name for path in folder.glob("*/LC_MESSAGES"))
    translated = [code.replace("_", "-").lower() for code in codes if code != "en"]
    return [ENGLISH, *((code, LANG_INFO.get(code, {}).get("name_local", code)) for code in translated)]
