"""Commands in README and guides, in blocks and in sentences, exist with the options that the text shows."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from django.core.management import get_commands, load_command_class

from esweb_client.cli.arguments import parser as make_cli_parser
from runs.clusters.settings import config_errors
from tests.cases import each_case
from tests.guides.blocks import LANGUAGES, NEEDS, ROOT, Block, list_pages, read_blocks, without_blocks
from workers.config import RunConfig

PAGES = list_pages()
BLOCKS = [block for page in PAGES for block in read_blocks(page)]
CHECKED_BLOCKS = [block for block in BLOCKS if block.needs != "a change of the code"]
"""Blocks that this code accepts. The recipe of the change tests the others."""
MANAGE = re.compile(r"\./manage\.py ([^`\n)#;]+)")
ESWEB = re.compile(r"(?:`|\$\(|^(?=esweb [a-z]+ [^a-z]|esweb [a-z]+$))esweb ([a-z][^`\n)#]*)", re.MULTILINE)
MODULE = re.compile(r"python3? -m ((?:workers|esweb|runs|judging|tests|benchmarks)[\w.]*)([^`\n)#]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
SHARED_OPTIONS = {"--data"}
"""Options that manage.py accepts for every command."""


def ids(block: Block) -> str:
    return str(block)


def text_of(page: Path) -> str:
    """Return the page's text, with continued lines of commands joined."""
    return page.read_text(encoding="utf-8").replace("\\\n", " ")


def check_words(parser: ArgumentParser, words: str) -> None:
    """Check that the subcommands and options among the words exist."""
    options = set(SHARED_OPTIONS)
    rest = [word for word in words.split() if not word.startswith(("-", "["))]
    while True:
        options |= {option for action in parser._actions for option in action.option_strings}
        subparsers = next((action for action in parser._actions if isinstance(action, _SubParsersAction)), None)
        if subparsers is None or not rest:
            break
        names = rest.pop(0).split("|")
        assert set(names) <= set(subparsers.choices), f"{words!r}: {names} are none of {sorted(subparsers.choices)}"
        parser = subparsers.choices[names[0]]
    unknown = set(OPTION.findall(words)) - options
    assert not unknown, f"{words!r} has no {unknown}"


def find_commands(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Return each command's name and the words after it."""
    for page in PAGES:
        for command in pattern.findall(text_of(page)):
            name, _, rest = command.partition(" ")
            yield name.strip(".,:"), rest


def test_manage_commands_have_documented_options() -> None:
    commands = dict.fromkeys(find_commands(MANAGE))
    assert len(commands) > 20
    for name, rest in commands:
        assert name in get_commands(), name
        check_words(load_command_class(get_commands()[name], name).create_parser("manage.py", name), rest)


def test_cli_commands_have_documented_options() -> None:
    commands = dict.fromkeys(find_commands(ESWEB))
    assert len(commands) > 15
    for name, rest in commands:
        check_words(make_cli_parser(), f"{name} {rest}")


def test_modules_have_documented_options() -> None:
    commands = {command for page in PAGES for command in MODULE.findall(text_of(page))}
    assert len(commands) > 8
    for name, rest in commands:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, name
        folder = Path(spec.origin)
        sources = folder.parent.rglob("*.py") if folder.name == "__init__.py" else [folder]
        text = "".join(source.read_text(encoding="utf-8") for source in sources)
        arguments = rest.partition(" -- ")[0]
        if missing := [option for option in OPTION.findall(arguments) if f'"{option}"' not in text]:
            # Options may be made in a loop: the program itself lists them.
            result = subprocess.run([sys.executable, "-m", name, "--help"], capture_output=True, text=True, check=True)
            assert [option for option in missing if option not in result.stdout] == [], (name, rest)


@each_case("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_document_shows_runnable_manage_commands(document: Path) -> None:
    text = re.sub(r"exec web python manage\.py", "", text_of(document))
    assert re.findall(r"(?<!\./)manage\.py [a-z]\w*", text) == []


@each_case("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_document_has_its_code_in_fences(document: Path) -> None:
    indented = re.findall(r"\n\n( {4}\S[^\n]*)", without_blocks(document))
    assert [line for line in indented if not line.lstrip().startswith(("-", "*", "|"))] == []


@each_case("block", BLOCKS, ids=ids)
def test_block_has_known_language_and_mark(block: Block) -> None:
    assert block.language in LANGUAGES, f"{block}: say one of {sorted(LANGUAGES)}; text is for what nobody types"
    assert not block.needs or block.needs in NEEDS, f"{block}: say one of {sorted(NEEDS)}"
    if block.run_by:
        test = (ROOT / block.run_by).read_text(encoding="utf-8")
        assert block.page.name in test, f"{block}: {block.run_by} does not read it"
    if block.is_marked:
        assert block.language != "text"


@each_case("block", [b for b in CHECKED_BLOCKS if b.language == "json"], ids=ids)
def test_json_block_is_accepted_config(block: Block) -> None:
    config = json.loads(block.text)
    if "task" in config or "method" in config:
        RunConfig.from_json(config if "method" in config else {"method": "es", "es": {}} | config)
        return
    kind = "ray" if "dashboard" in config else "slurm"
    errors = [
        error for error in config_errors(config, kind) if not (block.needs and "is not a file on this machine" in error)
    ]
    assert errors == []


@each_case("block", [b for b in CHECKED_BLOCKS if b.language == "python"], ids=ids)
def test_python_block_imports_existing_names(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            module = import_module(node.module or "")
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
