"""The parts of a run that change while it is reported: config, summary, name, tags and note."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from esweb_client.notices import warn_once
from esweb_client.values import to_json, to_object


class State:
    """Current values of a run, and those that the server has not been told. `save` stores them on the disk."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = dict(values)
        self.save: Callable[[], None] = lambda: None
        self.is_unsaved = False
        self._lock = threading.RLock()
        self._changes: dict[str, Any] = {}

    @property
    def has_changes(self) -> bool:
        """Return whether the server has not been told everything."""
        return bool(self._changes)

    def set(self, name: str, value: Any) -> None:
        """Change a value. Objects are merged, as the server does."""
        with self._lock:
            _merge(self.values, {name: value})
            _merge(self._changes, {name: value})
            self.is_unsaved = True

    def take_changes(self) -> dict[str, Any]:
        """Return what the server has not been told, and count it as reported."""
        with self._lock:
            changes, self._changes = self._changes, {}
            return changes

    def restore_changes(self, changes: Mapping[str, Any]) -> None:
        """Return changes that could not be reported; later ones prevail."""
        with self._lock:
            merged = dict(changes)
            _merge(merged, self._changes)
            self._changes = merged

    def copy(self) -> dict[str, Any]:
        """Return the values as they are now."""
        with self._lock:
            self.is_unsaved = False
            return {name: dict(value) if isinstance(value, dict) else value for name, value in self.values.items()}

    def renew_locks(self) -> None:
        """Replace the lock in a forked process, in which a thread that does not exist may hold it."""
        self._lock = threading.RLock()


class Section(MutableMapping[str, Any]):
    """One object of a run's state, such as its config: a mapping whose entries are attributes too."""

    def __init__(self, state: State, name: str, *, saves: bool) -> None:
        vars(self).update(_state=state, _name=name, _saves=saves)

    def __getitem__(self, key: str) -> Any:
        return self._values[str(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        self._change({str(key): to_json(value)})

    def __delitem__(self, key: str) -> None:
        warn_once("delete", f"{key!r} stays: an entry of a run's config or summary can be changed, but not removed")

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def __getattr__(self, key: str) -> Any:
        try:
            return self._values[key]
        except KeyError:
            raise AttributeError(key) from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value

    def update(self, *values: Any, **more: Any) -> None:
        """Change entries, given as a mapping, a dataclass or a namespace such as argparse's."""
        for part in (*values, more):
            try:
                self._change(to_object(dict(part) if isinstance(part, (list, tuple)) else part))
            except Exception as error:
                warn_once("section", f"{part!r:.100} is dropped: it has no entries ({error})")

    @property
    def _values(self) -> dict[str, Any]:
        return vars(self)["_state"].values.setdefault(vars(self)["_name"], {})  # type: ignore[no-any-return]

    def _change(self, values: dict[str, Any]) -> None:
        if values:
            vars(self)["_state"].set(vars(self)["_name"], values)
            if vars(self)["_saves"]:
                vars(self)["_state"].save()


def _merge(target: dict[str, Any], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            target[name] = {**target[name], **value}
        else:
            target[name] = value
