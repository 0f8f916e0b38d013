"""Names in a config become paths on a trainer's machine: only in allowed folders if a site started it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from workers.config import ConfigError, RunConfig
from workers.config.resources import OutsideFolders, connect, find, locate

COUNTDOWN = {"name": "countdown", "options": {"train_file": "sets/train.json"}}


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Return two allowed folders; the second holds a model and a data set, and links that lead out of both."""
    first, second, outside = (tmp_path / name for name in ("first", "second", "outside"))
    for folder in (first, second / "models" / "small", second / "sets", outside):
        folder.mkdir(parents=True)
    (second / "sets" / "train.json").write_text("[]")
    (outside / "secret.json").write_text("[]")
    (second / "sets" / "link.json").symlink_to(outside / "secret.json")
    (second / "models" / "linked").symlink_to(outside)
    (second / "models" / "torn").mkdir()
    (second / "models" / "torn" / "config.json").symlink_to(outside / "secret.json")
    (second / "models" / "inside").symlink_to(second / "models" / "small")
    return [first, second]


def config(**sections: Any) -> RunConfig:
    return RunConfig.from_json({"method": "es", "es": {}, **sections})


def by_site(folders: list[Path], **more: str) -> dict[str, str]:
    return {"ESWEB_DATA_PATHS": os.pathsep.join(map(str, folders)), **more}


def locate_problems(config: RunConfig, environment: dict[str, str]) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        locate(config, environment)
    return {problem.path: problem.message for problem in error.value.problems}


def test_locate_leaves_paths_of_a_run_started_by_hand(folders: list[Path]) -> None:
    by_hand = config(model={"path": "../models/mine"}, task=COUNTDOWN)
    assert locate(by_hand, {}) == by_hand


def test_locate_finds_names_in_allowed_folders(folders: list[Path]) -> None:
    located = locate(config(model={"path": "models/small"}, task=COUNTDOWN), by_site(folders))
    assert located.model.path == str(folders[1] / "models" / "small")
    assert located.task.options.train_file == str(folders[1] / "sets" / "train.json")
    assert located.task.options.eval_file == ""


@pytest.mark.parametrize("name", ["tiny", "micro", "Qwen/Qwen2.5-0.5B", "gpt2"])
def test_locate_leaves_made_models_and_names_of_the_hub(name: str, folders: list[Path]) -> None:
    assert locate(config(model={"path": name}), by_site(folders)).model.path == name
    assert locate(config(model={"path": name}), by_site([])).model.path == name


@each_case("name", ["/etc", "../outside", "models/../../outside", "~", "./models/small", "a/b/c", ""])
def test_locate_refuses_paths_of_models(name: str, folders: list[Path]) -> None:
    if name:
        assert (
            "is not in an allowed folder"
            in locate_problems(config(model={"path": name}), by_site(folders))["model.path"]
        )


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside/secret.json", "sets/missing.json", "~/x"])
def test_locate_refuses_files_that_no_allowed_folder_has(name: str, folders: list[Path]) -> None:
    task = {"name": "countdown", "options": {"eval_file": name}}
    assert list(locate_problems(config(task=task), by_site(folders))) == ["task.options.eval_file"]
    assert "Allowed folders: none" in locate_problems(config(task=task), by_site([]))["task.options.eval_file"]


@pytest.mark.parametrize("name", ["sets/link.json", "models/linked", "models/torn"])
def test_find_refuses_links_that_lead_out(name: str, folders: list[Path]) -> None:
    with pytest.raises(OutsideFolders, match="is a link to a path outside"):
        find(name, folders)


def test_find_follows_links_inside(folders: list[Path]) -> None:
    assert find("models/inside", folders) == folders[1] / "models" / "inside"
    assert find("models/none", folders) is None


def test_locate_takes_the_checkpoint_that_the_site_names(folders: list[Path], tmp_path: Path) -> None:
    of_run = config(model={"path": "run:abcdefghjk@5"})
    environment = by_site([], ESWEB_RUN_CHECKPOINT=str(tmp_path / "first"))
    assert locate(of_run, environment).model.path == str(tmp_path / "first")
    assert "is not a folder" in locate_problems(of_run, by_site([], ESWEB_RUN_CHECKPOINT="/none"))["model.path"]
    assert "which only its site can find" in locate_problems(of_run, {})["model.path"]


def test_connect_fills_in_the_site_and_the_scorer() -> None:
    safety = config(task={"name": "safety", "options": {"scorer": "beaver"}})
    assert connect(safety, {}) == safety
    site = {"ESWEB_DATA_PATHS": "", "ESWEB_RUN_SITE": "http://site", "ESWEB_RUN_SITE_TOKEN": "site-token"}
    options = connect(safety, site).task.options
    assert (options.scorer, options.scorer_site, options.scorer_site_token_file) == (
        "beaver", "http://site", "site-token",
    )  # fmt: skip
    assert connect(safety, site).tracking.push_url == ""
    pushes = connect(safety, {**site, "ESWEB_RUN_PUSHES": "1"}).tracking
    assert (pushes.push_url, pushes.token_file) == ("http://site", "site-token")
    secret = {"ESWEB_RUN_SCORER": "http://node7:8000", "ESWEB_RUN_SCORER_TOKEN": "scorer-token"}
    options = connect(safety, {**site, **secret}).task.options
    assert (options.scorer, options.scorer_token_file, options.scorer_site) == (
        "http://node7:8000", "scorer-token", "",
    )  # fmt: skip
    serving = RunConfig.from_json({"method": "scorer", "scorer": {}})
    scorer = connect(serving, {**site, "ESWEB_RUN_SCORER_TOKEN": "scorer-token"}).scorer
    assert scorer is not None
    assert (scorer.site, scorer.site_token_file, scorer.token_file) == ("http://site", "site-token", "scorer-token")


def test_connect_fills_in_the_site_of_an_adapter_server() -> None:
    es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": "qwen"}}
    by_hand = RunConfig.from_json({"method": "es", "es": es})
    assert connect(by_hand, {}) == by_hand
    site = {"ESWEB_DATA_PATHS": "", "ESWEB_RUN_SITE": "http://site", "ESWEB_RUN_SITE_TOKEN": "site-token"}
    server = connect(by_hand, site).es_section().adapter_server
    assert server is not None and (server.site, server.site_token_file) == ("http://site", "site-token")


def probe(*runs: str) -> RunConfig:
    return RunConfig.from_json({"method": "probe", "probe": {"runs": list(runs)}})


def located_runs(config: RunConfig, environment: dict[str, str]) -> tuple[str, ...]:
    located = locate(config, environment).probe
    assert located is not None
    return located.runs


@pytest.fixture
def run_folders(tmp_path: Path) -> list[Path]:
    """Return the folders of the attempts of two runs."""
    folders = [tmp_path / "runs" / uid for uid in ("abcdefghjk", "mnpqrstuvw")]
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def test_locate_takes_the_folders_of_runs_that_the_site_names(run_folders: list[Path]) -> None:
    first, second = run_folders
    environment = by_site([], ESWEB_RUN_FOLDERS=os.pathsep.join(map(str, run_folders)))
    named = probe("run:mnpqrstuvw@50", "run:abcdefghjk", "run:abcdefghjk@0")
    assert located_runs(named, environment) == (f"{second}@50", str(first), f"{first}@0")
    evaluation = RunConfig.from_json({"method": "evaluate", "evaluate": {"run": "run:mnpqrstuvw"}})
    located = locate(evaluation, environment).evaluate
    assert located is not None and located.run == str(second)


def test_locate_finds_relative_folders_of_runs(run_folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = run_folders[0].parent / "cdefghjkmn" / "esweb-cdefghjkmn-a1"
    attempt.mkdir(parents=True)
    monkeypatch.chdir(attempt)
    environment = by_site([], ESWEB_RUN_FOLDERS=os.pathsep.join(("../../abcdefghjk", "../../mnpqrstuvw")))
    assert located_runs(probe("run:mnpqrstuvw@7"), environment) == (f"{run_folders[1]}@7",)


def test_locate_names_every_run_that_is_not_there(run_folders: list[Path]) -> None:
    _first, second = run_folders
    second.rmdir()
    environment = by_site([], ESWEB_RUN_FOLDERS=os.pathsep.join(map(str, run_folders)))
    named = probe("run:abcdefghjk", "run:mnpqrstuvw@3", "run:zzzzzzzzzz", "../abcdefghjk", "run:abcdefghjk@x")
    assert locate_problems(named, environment) == {
        "probe.runs": f"names a run with attempts in {second}, which is not a folder on this machine; names "
        "run:zzzzzzzzzz, which only its site can find; give the folder of its attempts instead; must be run:<uid> or "
        "run:<uid>@<step>, not '../abcdefghjk'; must be run:<uid> or run:<uid>@<step>, not 'run:abcdefghjk@x'"
    }
    assert "which only its site can find" in locate_problems(probe("run:abcdefghjk@3"), {})["probe.runs"]
    assert "which only its site can find" in locate_problems(probe("run:abcdefghjk@3"), by_site([]))["probe.runs"]


def test_folders_of_runs_stay_if_started_by_hand(run_folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = run_folders
    assert located_runs(probe(str(first), f"{second}@12"), {}) == (str(first), f"{second}@12")
    monkeypatch.chdir(first.parent)
    assert located_runs(probe("abcdefghjk@3"), {}) == (f"{first}@3",)
    (first.parent / "a@b").mkdir()
    assert located_runs(probe("a@b", "a@b@4"), {}) == (str(first.parent / "a@b"), f"{first.parent / 'a@b'}@4")
    assert (
        "names a run with attempts in none, which is not a folder" in locate_problems(probe("none@3"), {})["probe.runs"]
    )
    assert "empty text" in locate_problems(probe(""), {})["probe.runs"]
