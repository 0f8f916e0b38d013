#!/usr/bin/env python3
"""Runs a command of the project: `./manage.py up`, `./manage.py demo`, `./manage.py help`."""

import os
import sys
from pathlib import Path

OWN_PYTHON = Path(__file__).parent / ".venv" / "bin" / "python"
"""The interpreter that `make setup` installs into."""

try:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
except ModuleNotFoundError:
    if not OWN_PYTHON.exists() or Path(sys.prefix).resolve() == OWN_PYTHON.parents[1].resolve():
        sys.exit("Django is not installed for this Python. `make setup` installs it into .venv.")
    os.execv(OWN_PYTHON, [str(OWN_PYTHON), *sys.argv])  # noqa: S606 (no shell)


def without_data_option(argv: list[str]) -> list[str]:
    """Return argv without `--data DIR`, which becomes ESWEB_DATA: the settings read it before a command runs."""
    remaining = []
    arguments = iter(argv)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name != "--data":
            remaining.append(argument)
            continue
        folder = value if equals else next(arguments, "")
        if not folder:
            sys.exit("--data needs a folder.")
        os.environ["ESWEB_DATA"] = folder
    return remaining


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
    try:
        execute_from_command_line(without_data_option(sys.argv))
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
