"""`esweb export --what folder` and `--experiment`: whole archives, or none."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from esweb_client.cli.errors import BAD_INPUT, NOT_FOUND
from runs.models import Run
from tests.cli.conftest import RunCli
from tests.cli.run_files import save_checkpoint


@pytest.mark.usefixtures("runs_dir", "asgi_server")
def test_run_and_experiment_are_exported_whole(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    save_checkpoint(run, 5)
    out = tmp_path / "exports"
    code, printed, err = run_cli("export", run.uid, "--what", "folder", "--out", str(out))
    assert (code, err) == (0, "") and printed.startswith(f"{out}/esweb-run-{run.uid}.zip  0.0 MB"), (printed, err)
    code, printed, _ = run_cli(
        "export", "--experiment", str(run.experiment_id), "--checkpoints", "--no-logs", "--out", str(out), "--json"
    )
    result = json.loads(printed)
    assert code == 0 and result["bytes"] == Path(result["file"]).stat().st_size
    with zipfile.ZipFile(result["file"]) as archive:
        assert any(name.endswith("step-000005/model.safetensors") for name in archive.namelist())
    missing = run_cli("export", "2222222222", "--what", "folder", "--out", str(out))
    assert missing[0] == NOT_FOUND and len(list(out.iterdir())) == 2
    assert run_cli("export", run.uid, "--experiment", "1")[0] == BAD_INPUT
    assert run_cli("export")[0] == BAD_INPUT and run_cli("export", "--what", "folder")[0] == BAD_INPUT
