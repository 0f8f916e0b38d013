"""The parts of a run that change while it is reported: config, summary, name, tags and note."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from esweb_client.limits import LIMITS, Leaf, describe_omitted, fit, json_bytes
from esweb_client.notices import warn_once
from esweb_client.values import to_json, to_object


class State:
    """Current values of a run, and those that are not reported yet. `save` stores them on the disk.

    The program may read each of its values again; what is stored and sent of config and summary is what fits.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = dict(values)
        self.save: Callable[[], None] = lambda: None
        self.announce: Callable[[], None] = lambda: None
        """Called after entries were left out, which `take_omitted` names."""
        self.is_unsaved = False
        self._lock = threading.RLock()
        self._changes: dict[str, Any] = {}
        self._omitted: dict[str, dict[tuple[str, ...], Leaf]] = {name: {} for name in LIMITS}
        self._named: set[tuple[str, ...]] = set()
        self._fitting: dict[str, dict[str, Any]] = {name: {} for name in LIMITS}
        self._max_bytes = dict.fromkeys(LIMITS, 2)
        """Upper bounds of the sizes of `_fitting`."""
        for name in LIMITS:
            self._fit(name, dict(values.get(name) or {}))

    @property
    def has_changes(self) -> bool:
        """Return whether the server has not been told everything."""
        return bool(self._changes)

    def set(self, name: str, value: Any) -> None:
        """Change a value. Objects are merged, as the server does."""
        with self._lock:
            _merge(self.values, {name: value})
            sent = self._fit(name, value) if name in LIMITS else value
            if sent or name not in LIMITS:
                _merge(self._changes, {name: sent})
            self.is_unsaved = True
        if any(self._omitted.values()):
            self.announce()

    def fitting(self, name: str) -> dict[str, Any]:
        """Return what the server can store of the config or summary."""
        with self._lock:
            return dict(self._fitting[name])

    def take_omitted(self) -> list[str]:
        """Return a sentence for the config and the summary if entries do not fit that no earlier call has named."""
        with self._lock:
            omitted = {name: list(leaves.values()) for name, leaves in self._omitted.items() if leaves}
            for leaves in self._omitted.values():
                leaves.clear()
            return [describe_omitted(name, leaves) for name, leaves in omitted.items()]

    def _fit(self, name: str, value: dict[str, Any]) -> dict[str, Any]:
        """Add to what is sent of the config or summary as much of an update as fits, and return that."""
        former, limit = self._fitting[name], LIMITS[name]
        self._max_bytes[name] += json_bytes(value)
        if self._max_bytes[name] > limit:
            whole = {**former, **value}
            self._max_bytes[name] = json_bytes(whole)
            if self._max_bytes[name] > limit:
                rest = json_bytes({key: inner for key, inner in former.items() if key not in value})
                value, omitted = fit(value, limit - rest)
                self._note_omitted(name, omitted)
                self._max_bytes[name] = limit
        former.update(value)
        return value

    def _note_omitted(self, name: str, leaves: list[Leaf]) -> None:
        for leaf in leaves:
            if (name, *leaf.keys) not in self._named:
                self._named.add((name, *leaf.keys))
                self._omitted[name][leaf.keys] = leaf

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
            values = {**self.values, **self._fitting}
            return {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}

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
