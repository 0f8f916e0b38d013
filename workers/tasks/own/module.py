"""Finds the file that `module:attribute` names under the allowed folders, and loads it. Finding imports nothing.

Only a file that really lies under an allowed folder is loaded, links followed; so are the packages around it. What that
file itself imports is its own business: whoever may write there may run code.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "ESWEB_TASK_PATHS"
NAMED_AT_MOST = 20


class NoSuchTask(ValueError):
    """There is nothing under this name that may be loaded. The message says what there is."""


@dataclass(frozen=True)
class Found:
    """A module's file, and the allowed folder that it was looked for in."""

    module: str
    file: Path
    folder: Path


def allowed_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The folders that ESWEB_TASK_PATHS lists. Raises NoSuchTask for one that is not absolute."""
    folders = [Path(part) for part in environment.get(VARIABLE, "").split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_absolute():
            raise NoSuchTask(f"{VARIABLE} must list absolute folders, and {str(folder)!r} is none")
    return folders


def find(path: str, folders: Sequence[Path]) -> Found:
    """The file that holds `module:attribute`. Raises NoSuchTask, naming the modules that are there."""
    module = path.partition(":")[0]
    if not folders:
        raise NoSuchTask(
            "no folder is allowed for tasks of your own here: an administrator sets task_paths in the cluster's "
            f"config; by hand, set {VARIABLE}"
        )
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise NoSuchTask(f"{module} is the name of a module of Python's own: give your file another one")
    for folder in folders:
        for file in _candidates(folder, module):
            if _is_file(file):
                return Found(module, _inside(file, folders), folder)
    where = ", ".join(map(str, folders))
    raise NoSuchTask(f"there is no module {module} in {where}; {_modules_there(folders)}")


def load(path: str, folders: Sequence[Path]) -> Any:
    """The attribute, its module run. Raises NoSuchTask; whatever the module raises passes through."""
    found = find(path, folders)
    # Last, so that nothing of the user's hides a library; first would let a file called numpy.py do that.
    sys.path.append(str(found.folder))
    module = _run(found, folders)
    name = path.partition(":")[2]
    if not hasattr(module, name):
        raise NoSuchTask(f"{found.file} has no {name}; {_names_there(module)}")
    return getattr(module, name)


def _candidates(folder: Path, module: str) -> tuple[Path, Path]:
    place = folder.joinpath(*module.split("."))
    return place / "__init__.py", place.with_name(f"{place.name}.py")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise NoSuchTask(f"{path} cannot be looked at: {error}") from error


def _inside(file: Path, folders: Sequence[Path]) -> Path:
    """The file, links followed. Raises NoSuchTask where that leads out of every allowed folder."""
    real = file.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in folders):
        raise NoSuchTask(f"{file} leads to {real}, which lies under none of the allowed folders")
    return real


def _run(found: Found, folders: Sequence[Path]) -> ModuleType:
    """Runs the packages around the module, then the module."""
    parts = found.module.split(".")
    for i in range(1, len(parts)):
        package = found.folder.joinpath(*parts[:i])
        init = package / "__init__.py"
        _execute(".".join(parts[:i]), _inside(init, folders) if _is_file(init) else None, package)
    is_package = found.file.name == "__init__.py"
    return _execute(found.module, found.file, found.file.parent if is_package else None)


def _execute(name: str, file: Path | None, package: Path | None) -> ModuleType:
    """One module under its dotted name; without a file, a package that only holds others."""
    if name in sys.modules:
        raise NoSuchTask(f"{name} is the name of a module that is loaded already: give your file another one")
    places = [str(package)] if package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
    if file is None or spec is None or spec.loader is None:
        module = ModuleType(name)
        module.__path__ = places or []
    else:
        module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if file is not None and spec is not None and spec.loader is not None:
        spec.loader.exec_module(module)
    return module


def _modules_there(folders: Sequence[Path]) -> str:
    names = sorted({name for folder in folders for name in _modules_in(folder)})
    return f"the modules there are {_listed(names)}" if names else "there are no modules at all"


def _modules_in(folder: Path) -> Iterator[str]:
    """Modules and packages of the folder, and modules one level down. Nothing where it cannot be read."""
    try:
        files = [*folder.glob("*.py"), *folder.glob("*/*.py")]
    except OSError:
        return
    for file in files:
        parts = file.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and all(p.isidentifier() and not p.startswith("_") for p in parts):
            yield ".".join(parts)


def _names_there(module: ModuleType) -> str:
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__ and n[0] != "_"]
    return f"what is there: {_listed(own)}" if own else "there is no class or function in it"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_AT_MOST} more" if len(names) > NAMED_AT_MOST else ""
    return ", ".join(names[:NAMED_AT_MOST]) + more
