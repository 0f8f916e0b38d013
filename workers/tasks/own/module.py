"""Find the file that `module:attribute` names under the allowed folders, and load it. Finding imports nothing.

A file is loaded only if it is under an allowed folder after links are followed; so are the packages around it. Its own
imports are not restricted: a user who may write there may run code.
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
MAX_LISTED_NAMES = 20


class NoSuchTask(ValueError):
    """No module or attribute of this name may be loaded. The message lists the names that exist."""


@dataclass(frozen=True)
class ModuleFile:
    """A module's file, and the allowed folder that contains it."""

    module: str
    file: Path
    folder: Path


def allowed_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders that ESWEB_TASK_PATHS lists. Raise NoSuchTask for one that is not absolute."""
    folders = [Path(part) for part in environment.get(VARIABLE, "").split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_absolute():
            raise NoSuchTask(f"{VARIABLE} must list absolute folders, but {str(folder)!r} is not absolute")
    return folders


def find(path: str, folders: Sequence[Path]) -> ModuleFile:
    """Return the file that holds `module:attribute`. Raise NoSuchTask, naming the modules that exist."""
    module = path.partition(":")[0]
    if not folders:
        raise NoSuchTask(
            "no folder is allowed for tasks of your own here: an administrator can set task_paths in the cluster's "
            f"config; without a site, set {VARIABLE}"
        )
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise NoSuchTask(f"{module} is the name of a standard Python module: rename your file")
    for folder in folders:
        for file in _candidates(folder, module):
            if _is_file(file):
                return ModuleFile(module, _inside(file, folders), folder)
    where = ", ".join(map(str, folders))
    raise NoSuchTask(f"there is no module {module} in {where}; {_describe_modules(folders)}")


def load(path: str, folders: Sequence[Path]) -> Any:
    """Run the module and return the attribute. Raise NoSuchTask; errors of the module pass through."""
    module_file = find(path, folders)
    # Appended last, so that no file of the user's hides a library; a file called numpy.py otherwise would.
    sys.path.append(str(module_file.folder))
    module = _execute_with_packages(module_file, folders)
    name = path.partition(":")[2]
    if not hasattr(module, name):
        raise NoSuchTask(f"{module_file.file} has no {name}; {_describe_names(module)}")
    return getattr(module, name)


def _candidates(folder: Path, module: str) -> tuple[Path, Path]:
    base = folder.joinpath(*module.split("."))
    return base / "__init__.py", base.with_name(f"{base.name}.py")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise NoSuchTask(f"{path} cannot be read: {error}") from error


def _inside(file: Path, folders: Sequence[Path]) -> Path:
    """Return the file with links followed. Raise NoSuchTask if it is outside every allowed folder."""
    real = file.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in folders):
        raise NoSuchTask(f"{file} leads to {real}, which is outside the allowed folders")
    return real


def _execute_with_packages(module_file: ModuleFile, folders: Sequence[Path]) -> ModuleType:
    """Run the packages around the module, then the module."""
    parts = module_file.module.split(".")
    for i in range(1, len(parts)):
        package = module_file.folder.joinpath(*parts[:i])
        init = package / "__init__.py"
        _execute(".".join(parts[:i]), _inside(init, folders) if _is_file(init) else None, package)
    is_package = module_file.file.name == "__init__.py"
    return _execute(module_file.module, module_file.file, module_file.file.parent if is_package else None)


def _execute(name: str, file: Path | None, package: Path | None) -> ModuleType:
    """Run one module under its dotted name; without a file, create a package that only holds others."""
    if name in sys.modules:
        raise NoSuchTask(f"{name} is the name of a module that is already loaded: rename your file")
    search_locations = [str(package)] if package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=search_locations)
    if file is None or spec is None or spec.loader is None:
        module = ModuleType(name)
        module.__path__ = search_locations or []
    else:
        module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if file is not None and spec is not None and spec.loader is not None:
        spec.loader.exec_module(module)
    return module


def _describe_modules(folders: Sequence[Path]) -> str:
    names = sorted({name for folder in folders for name in _modules_in(folder)})
    return f"the modules there are {_join_names(names)}" if names else "there are no modules at all"


def _modules_in(folder: Path) -> Iterator[str]:
    """Yield the folder's modules and packages, and modules one level down. Yield none if it cannot be read."""
    try:
        files = [*folder.glob("*.py"), *folder.glob("*/*.py")]
    except OSError:
        return
    for file in files:
        parts = file.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and all(p.isidentifier() and not p.startswith("_") for p in parts):
            yield ".".join(parts)


def _describe_names(module: ModuleType) -> str:
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__ and n[0] != "_"]
    return f"what is there: {_join_names(own)}" if own else "there is no class or function in it"


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return ", ".join(names[:MAX_LISTED_NAMES]) + more
