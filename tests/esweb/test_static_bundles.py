"""Scripts of a page, and all styles, are joined when static files are collected."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from esweb.middleware.static_bundles import BundleError, bundle, is_entry
from tests import migrated_database
from tests.cases import each_case
from tests.started_site import collect_static

STATIC = Path(__file__).parents[2] / "static"
TEMPLATES = Path(__file__).parents[2] / "templates"
ENTRIES = sorted(path.stem for path in (STATIC / "js" / "pages").glob("*.js"))
SCRIPT = re.compile(r"""type="module" src="\{% static 'js/([\w/-]+)\.js' %\}""")
FILE = re.compile(r"<script\b|<link\b|\{% htmx_script %\}")
MAX_REQUESTS = 15
SHELL_BYTES = 55_000
CHARTS_BYTES = 450_000
"""A page may cost 60 kB; about 5 kB of that are the page itself and the texts of its scripts."""


def read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def modules_of(entry: str) -> set[str]:
    return set(re.findall(r'^import "\.\./([\w-]+)\.js";$', read(f"js/pages/{entry}.js"), re.MULTILINE))


@each_case("entry", ENTRIES)
def test_bundle_runs_imported_modules_once_and_first(entry: str) -> None:
    text = bundle(f"js/pages/{entry}.js", read)
    names = re.findall(r'^modules\["(.+)"\] = ', text, re.MULTILINE)
    assert len(names) == len(set(names)) and names[-1] == f"js/pages/{entry}.js"
    for position, name in enumerate(names):
        body = text.split(f'modules["{name}"] = ')[1].split('\nmodules["')[0]
        assert set(re.findall(r'modules\["([^"]+)"\];', body)) <= set(names[:position])
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_bundle_passes_exports_to_importers() -> None:
    files = {
        "js/pages/a.js": 'import { double, LIMIT as limit } from "../b.js";\nconsole.log(double(limit));',
        "js/b.js": 'import { one } from "./c.js";\nexport const LIMIT = 20 + one;\n'
        "export function double(x) {\n  return 2 * x;\n}",
        "js/c.js": "const hidden = 1;\nexport const one = hidden;",
    }
    argv = ["node", "--input-type=module", "--eval", bundle("js/pages/a.js", files.__getitem__)]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "42\n"


@pytest.mark.parametrize(
    "text",
    [
        'import * as all from "../b.js";',
        'import one from "../b.js";',
        'export { one } from "../b.js";',
        "export default 1;",
        'const late = await import("../b.js");',
        'import "https://example.org/a.js";',
    ],
)
def test_bundle_refuses_syntax_that_it_does_not_know(text: str) -> None:
    with pytest.raises(BundleError, match=r"js/pages/a\.js: "):
        bundle("js/pages/a.js", lambda name: text if name == "js/pages/a.js" else "")


def test_bundle_refuses_modules_that_import_each_other() -> None:
    files = {"js/pages/a.js": 'import "../b.js";', "js/b.js": 'import "./c.js";', "js/c.js": 'import "./b.js";'}
    with pytest.raises(BundleError, match=r"js/b\.js imports js/c\.js imports js/b\.js"):
        bundle("js/pages/a.js", files.__getitem__)


def test_styles_keep_their_layers_and_order() -> None:
    files = {"css/app.css": '@layer a, b;\n@import url("x.css") layer(a);\n@import url("../v/y.css") layer(b);'}
    files |= {"css/x.css": "p { color: red }", "v/y.css": "p { color: blue }"}
    text = re.sub(r"\s+", " ", bundle("css/app.css", files.__getitem__))
    assert text == "@layer a, b; @layer a { p { color: red } } @layer b { p { color: blue } }"


@pytest.mark.parametrize(
    ("app", "style"), [('@import url("x.css");', ""), ('@import url("x.css") layer(a);', "p { mask: url(x.svg) }")]
)
def test_styles_refuse_imports_without_layer_and_files(app: str, style: str) -> None:
    with pytest.raises(BundleError):
        bundle("css/app.css", lambda name: app if name == "css/app.css" else style)


@each_case("template", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: str(p.relative_to(TEMPLATES)))
def test_template_loads_at_most_one_script(template: Path) -> None:
    """A page has the shell's script and one of its own, which share no module: an element is defined once.

    Pages of a share link have no shell.
    """
    scripts = SCRIPT.findall(template.read_text(encoding="utf-8"))
    assert len(scripts) <= 1
    for script in scripts:
        text = read(f"js/{script}.js")
        assert is_entry(f"js/{script}.js") or "import " not in text
        if script not in ("pages/shell", "pages/shared"):
            modules = modules_of(script.removeprefix("pages/")) if is_entry(f"js/{script}.js") else {script}
            assert modules.isdisjoint(modules_of("shell"))


def test_shell_of_a_page_is_small_when_collected() -> None:
    cache = Path(os.environ["ESWEB_CACHE"])
    with migrated_database.lock_cache(cache):
        folder = collect_static(cache)
    names = json.loads((folder / "staticfiles.json").read_text(encoding="utf-8"))["paths"]

    def size(name: str) -> int:
        path = folder / names[name]
        return path.with_name(f"{path.name}.br").stat().st_size

    assert "@import" not in (folder / names["css/app.css"]).read_text(encoding="utf-8")
    shared = sum(map(size, ("css/app.css", "js/pages/shell.js", "django_htmx/htmx-2.min.js")))
    # Charts come with Plotly, on their pages alone.
    own = [size(f"js/pages/{entry}.js") for entry in ENTRIES if entry not in ("shell", "charts")]
    assert shared + max(own) < SHELL_BYTES
    assert shared + max(own) + size("js/pages/charts.js") + size("vendor/plotly-basic-4.1.1.min.js") < CHARTS_BYTES


@pytest.mark.parametrize("shell", ["base.html", "sharing/frame.html"])
def test_page_with_charts_requests_few_files(shell: str) -> None:
    """The page itself, the files of its shell, those of charts, and its own script. Styles name no other file."""
    files = [FILE.findall((TEMPLATES / name).read_text("utf-8")) for name in (shell, "includes/chart_scripts.html")]
    assert 1 + sum(map(len, files)) + 1 <= MAX_REQUESTS
