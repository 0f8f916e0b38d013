"""`./manage.py export RUN…` and `./manage.py export --experiment N`: write runs or an experiment to zip files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from esweb.experiment_archives.export import archive_stem, experiment_archive
from runs.exporting import Member, Parts, run_archive, zip_pieces
from runs.models import Experiment, Run


class Command(BaseCommand):
    """Command that exports what the owner of a run or of an experiment may see."""

    help = "Write runs, or a whole experiment, to zip files that other programs read and another esweb imports."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="*", metavar="RUN", help="uid of a run")
        parser.add_argument("--experiment", type=int, metavar="N", help="number of an experiment, as in its address")
        parser.add_argument("--checkpoints", action="store_true", help="with checkpoints")
        parser.add_argument("--no-logs", action="store_true", help="without log.txt and replay.jsonl")
        parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder of the files (.)")

    def handle(self, *, runs: list[str], experiment: int | None, out: Path, **options: Any) -> None:
        if bool(runs) == (experiment is not None):
            raise CommandError("Name runs, or an experiment with --experiment N")
        parts = Parts(not options["no_logs"], options["checkpoints"])
        if experiment is not None:
            row = Experiment.objects.filter(pk=experiment, deleted_at=None).select_related("owner").first()
            if row is None:
                raise CommandError(f"There is no experiment {experiment}")
            self._write(out / f"{archive_stem(row)}.zip", experiment_archive(row, parts, row.owner))
        for uid in runs:
            run = Run.objects.filter(uid=uid, deleted_at=None).select_related("created_by").first()
            if run is None:
                raise CommandError(f"There is no run {uid!r}")
            self._write(out / f"esweb-run-{uid}.zip", run_archive(run, parts, run.created_by))

    def _write(self, path: Path, members: Iterable[Member]) -> None:
        """Write a file, which has its name only when it is whole."""
        draft = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                for piece in zip_pieces(members):
                    file.write(piece)
            draft.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            draft.unlink(missing_ok=True)
        self.stdout.write(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
