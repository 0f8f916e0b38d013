"""Static files are collected before the first start and after a change, named by their content and compressed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from esweb.bootstrap import prepare
from esweb.bootstrap.collectstatic import StaticCollection
from esweb.embedded import CannotStart
from esweb.supervisor import Part, collectstatic_part, static_folder

FINDER = "django.contrib.staticfiles.finders.FileSystemFinder"
MANAGE = """
import sys
from django.core.management import execute_from_command_line
from esweb import settings
settings.STATICFILES_DIRS = [{source!r}]
settings.STATICFILES_FINDERS = [{finder!r}]
execute_from_command_line(sys.argv)
"""
"""manage.py of a site that has only a few files of pages."""


@pytest.fixture
def source(tmp_path: Path, settings: Settings) -> Path:
    """Return a style, a script and another that it imports."""
    folder = tmp_path / "source"
    files = {
        "css/a.css": "p { color: red }\n" * 100,
        "js/a.js": 'import { b } from "./b.js";\n',
        "js/b.js": "export const b = 1;\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    settings.STATICFILES_DIRS, settings.STATICFILES_FINDERS = [folder], [FINDER]
    return folder


@pytest.mark.django_db
def test_every_file_is_named_by_its_content_and_compressed(tmp_path: Path, source: Path) -> None:
    data, manage_py = tmp_path / "data", tmp_path / "manage.py"
    manage_py.write_text(MANAGE.format(source=str(source), finder=FINDER), encoding="utf-8")
    folder = static_folder(data)
    prepare.prepare(StaticCollection(folder, collectstatic_part(data, manage_py)))
    names = json.loads((folder / "staticfiles.json").read_text(encoding="utf-8"))["paths"]
    assert set(names) == {"css/a.css", "js/a.js", "js/b.js"}
    style, script = folder / names["css/a.css"], folder / names["js/a.js"]
    assert style.stem.startswith("a.") and style.read_text(encoding="utf-8").startswith("p {")
    assert f"./{Path(names['js/b.js']).name}" in script.read_text(encoding="utf-8")
    for kind in (".br", ".gz"):
        assert style.with_name(style.name + kind).stat().st_size < style.stat().st_size


def collecting(data: Path, program: str = "") -> StaticCollection:
    """Files of pages below this folder, gathered by this program."""
    static_folder(data).mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-c", program]
    return StaticCollection(static_folder(data), Part("static", argv, data / "static.log", {}, comes_back=False))


def test_static_files_are_collected_again_only_after_a_change(tmp_path: Path, source: Path) -> None:
    begun = []
    for text in ("1", "1", "12"):
        if (source / "css" / "a.css").read_text(encoding="utf-8") != text:
            (source / "css" / "a.css").write_text(text, encoding="utf-8")
        files = collecting(tmp_path / "data")
        files.start()
        files.finish()
        begun.append(files.part.process is not None)
    assert begun == [True, False, True]


def test_a_failure_to_gather_files_is_one_sentence(tmp_path: Path, source: Path) -> None:
    files = collecting(tmp_path / "data", "raise SystemExit('No space left on device')")
    files.start()
    with pytest.raises(CannotStart, match=r"could not be collected: No space left on device \(see .*static\.log\)"):
        files.finish()
    again = collecting(tmp_path / "data")
    again.start()
    again.finish()
    assert again.part.process is not None
