"""Join the scripts of a page, and all styles, into one file each when static files are collected.

Unbundled, a page costs about forty requests. The maintained bundlers (esbuild, rolldown) are programs for Node.js,
which esweb does not need otherwise, and our files use a small part of the languages: scripts import by name from files
next to them, and `css/app.css` imports each style into a layer. Anything else is refused, so that it cannot be lost.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

IMPORT = re.compile(r"""^import (?:\{ ([^{}]+) \} from )?"(\.\.?/[^"]+)";$""", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
STYLE = re.compile(r'^@import url\("([^"]+)"\) layer\((\w+)\);$', re.MULTILINE)
URL = re.compile(r"""url\((?!\s*["']?(?:data:|#))""")
Read = Callable[[str], str]
"""Return the text of the static file of this name."""


class BundleError(ValueError):
    """A file uses what the bundler does not understand."""


def is_entry(name: str) -> bool:
    """Return whether the static file of this name is replaced by its bundle."""
    return name == "css/app.css" or posixpath.dirname(name) == "js/pages"


def bundle(name: str, read: Read) -> str:
    """Return the text of this entry with all that it imports. Raise BundleError on unknown syntax."""
    return _styles(name, read) if name.endswith(".css") else _scripts(name, read)


def _scripts(entry: str, read: Read) -> str:
    """Wrap each module in a function that returns its exports, in the order in which a browser would run them."""
    bundled: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise BundleError(f"{' imports '.join([*importers, name])}: modules must not import each other")
        if name in bundled:
            return
        text = read(name)
        for _, path in IMPORT.findall(text):
            add(_resolve(name, path), (*importers, name))
        bundled[name] = _wrapped(name, text)

    add(entry, ())
    return "const modules = {};\n" + "".join(bundled.values())


def _wrapped(name: str, text: str) -> str:
    """Return this module as one statement that runs it and stores what it exports."""

    def from_modules(match: re.Match[str]) -> str:
        names, path = match.groups()
        target = f"modules[{_quoted(_resolve(name, path))}]"
        return f"const {{ {names.replace(' as ', ': ')} }} = {target};" if names else ""

    exports = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(from_modules, text))
    if unknown := re.search(r"^(?:import|export)\b.*|\bimport\(.*", body, re.MULTILINE):
        raise BundleError(f'{name}: {unknown[0]!r} is neither `import {{ a }} from "./b.js";` nor `export function a`')
    return f"modules[{_quoted(name)}] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _styles(entry: str, read: Read) -> str:
    """Replace each import by the imported text inside its layer."""

    def as_layer(match: re.Match[str]) -> str:
        path, layer = match.groups()
        text = read(_resolve(entry, path))
        if address := URL.search(text):
            raise BundleError(f"{path}: {text[address.start() :][:60]!r} refers to a file; use a data: URL")
        return f"@layer {layer} {{\n{text}\n}}"

    text = STYLE.sub(as_layer, read(entry))
    if "@import" in text:
        raise BundleError(f'{entry}: every import must have the form `@import url("a.css") layer(b);`')
    return text


def _resolve(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _quoted(name: str) -> str:
    return f'"{name}"'
