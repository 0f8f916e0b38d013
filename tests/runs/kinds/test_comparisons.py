"""Nothing outside `runs.kinds` asks which kind, method or origin a run has: it reads what that kind or method declares.

A module asks if it compares with the strings of kinds, methods and origins (`==`, `in`, `case`), with what it imports
from `runs.kinds` by name, filters by them on `method`, names a method by a constant of its own, has a table with
several methods as keys, or reads the section of a method from a config. `of_kind(kinds.PROBE)` on a page about probes
asks nothing, nor does membership in a list that
`runs.kinds` derives. EXCEPTIONS states what remains, and why.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from runs import kinds
from workers.config.methods import METHODS

ROOT = Path(__file__).parents[3]
CODE = ("esweb", "judging", "runs")
OWNER = "runs/kinds/"
NAMED = {name for name in kinds.__all__ if isinstance(getattr(kinds, name), kinds.Kind | kinds.Origin)}
WORDS = {*METHODS, *(kind.slug for kind in kinds.KINDS), *(origin.slug for origin in kinds.ORIGINS)}
ALTERNATIVES = "|".join(sorted(WORDS))
QUESTION = re.compile(r"\.(is_probe|is_evaluation|is_external|is_imported|only_measures|is_scorer)\b")
QUOTED = re.compile(rf"""["'](?:{ALTERNATIVES})["']""")
CONDITION = re.compile(r"{%\s*(?:if|elif)\b.*?%}", re.DOTALL)
STYLE = re.compile(rf"""\[(?:value|data-[a-z]+)[~^$*|]?=["']?(?:{ALTERNATIVES})["']?\]""")
SCRIPT = re.compile(rf"""(?:[!=]==?|case)\s*["'`](?:{ALTERNATIVES})["'`]""")
METHOD_FILTER = re.compile(r"(\w+__)?method(__\w+)?")
CONFIG_NAMES = ("config", "run_config", "c")
COLOURS = "a colour pair, dashes and markers belong to ES and GRPO; other methods share a third"
READER = "a file of another program names its method by words and settings, which the reader translates"
SERVICE = "a kind of service, which registers whether or not a run of this site serves it"
BACK_END = "a setting of the section: the back end or server that answers for the members"
SCORER_SECRET = "the secret and the token that settings of the section name"
DISPUTE = "a kind of dispute: the score of a scorer against the judges"
SECTION = "settings of the section, in code for runs of this method"
EXCEPTIONS = {
    ("judging/boards/charts.py", "table of es, grpo"): COLOURS,
    ("judging/boards/panels/disputes.py", "kind != 'scorer'"): DISPUTE,
    ("runs/charts/style.py", "table of es, grpo"): COLOURS,
    ("runs/importing/source_kinds.py", "evaluations.is_evaluation"): READER,
    ("runs/importing/hyperparameters.py", "table of es, grpo"): READER,
    ("runs/importing/readers/log_run.py", "'grpo' in algorithm"): READER,
    ("runs/importing/run_names.py", "table of es, grpo"): READER,
    ("runs/launching/budgets/estimate.py", "table of es, grpo"): "settings of each section that determine its cost",
    ("runs/service_registry/commands.py", "SCORER = 'scorer'"): SERVICE,
    ("runs/service_registry/commands.py", "(registration.kind, registration.name) != ('scorer', scorer.name)"): SERVICE,
    ("templates/judging/judge_runs/judge.html", "{% elif judge.kind == 'imported' %}"): "a kind of judge",
    ("templates/launching/gpu_memory.html", '{% if memory.planner == "grpo" %}'): "a planner of GPU memory",
    ("templates/run_page/attempts.html", "{% if attempt.origin == 'external' %}"): "the origin of an attempt",
    ("esweb/demo/probe_tables.py", "result.probe == 'audit'"): "a probe of that name",
    ("esweb/demo/results.py", "run.run_config.evaluate"): SECTION,
    ("runs/launching/credentials.py", "config.es"): BACK_END,
    ("runs/launching/credentials.py", "config.scorer"): SCORER_SECRET,
    ("runs/launching/gpu_memory/default_gpus.py", "config.es"): BACK_END,
    ("runs/launching/gpu_memory/plan.py", "config.es"): BACK_END,
    ("runs/launching/preflight/needs.py", "c.es"): BACK_END,
    ("runs/launching/preflight/needs.py", "config.es"): BACK_END,
    ("runs/launching/presets/adaptation.py", "config.grpo"): SECTION,
    ("runs/service_registry/commands.py", "run.run_config.scorer"): SCORER_SECRET,
}


def questions(source: str) -> Iterator[str]:
    """Yield each place of a module that asks for a kind, method or origin."""
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("runs.kinds")
        for alias in node.names
        if alias.name in NAMED
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = [str(key.value) for key in node.keys if isinstance(key, ast.Constant) and key.value in METHODS]
            if len(names) > 1:
                yield f"table of {', '.join(names)}"
        elif _is_question(node) or any(_names_kind(operand, imported) for operand in _operands(node)):
            yield ast.unparse(node)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value in METHODS:
            yield ast.unparse(node)


def _is_question(node: ast.AST) -> bool:
    """Return whether a node reads such an attribute of a run, or the section of a method from a config."""
    if not isinstance(node, ast.Attribute):
        return False
    of = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
    return QUESTION.fullmatch(f".{node.attr}") is not None or (node.attr in METHODS and of in CONFIG_NAMES)


def _operands(node: ast.AST) -> list[ast.expr]:
    """Return what a comparison compares, the pattern of a case, or the values of a call's filters on `method`."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.MatchValue):
        return [node.value]
    if isinstance(node, ast.Call):
        return [word.value for word in node.keywords if word.arg and METHOD_FILTER.fullmatch(word.arg)]
    return []


def _names_kind(node: ast.expr, imported: set[str]) -> bool:
    """Return whether an operand is, or lists, such a string, an imported kind or origin, or an attribute of one."""
    if isinstance(node, ast.Constant):
        return node.value in WORDS
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(_names_kind(part, imported) for part in node.elts)
    if isinstance(node, ast.Attribute):
        is_member = isinstance(node.value, ast.Name) and node.value.id == "kinds" and node.attr in NAMED
        return is_member or _names_kind(node.value, imported)
    return isinstance(node, ast.Name) and node.id in imported


def template_questions(text: str) -> list[str]:
    """Return the conditions of a template that ask for a kind or method."""
    return [tag for tag in CONDITION.findall(text) if QUESTION.search(tag) or QUOTED.search(tag)]


def places() -> Iterator[tuple[str, str]]:
    """Yield (file, question) for each question of the project outside its owner."""
    for name, text in _files(*(f"{folder}/**/*.py" for folder in CODE)):
        yield from ((name, question) for question in questions(text))
    for name, text in _files("templates/**/*.html"):
        yield from ((name, question) for question in template_questions(text))
    for pattern, question in (("static/css/**/*.css", STYLE), ("static/js/**/*.js", SCRIPT)):
        yield from ((name, match[0]) for name, text in _files(pattern) for match in question.finditer(text))


def _files(*patterns: str) -> Iterator[tuple[str, str]]:
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        if "/vendor/" not in name and "/migrations/" not in name and not name.startswith(OWNER):
            yield name, path.read_text(encoding="utf-8")


def test_kinds_are_compared_nowhere_else() -> None:
    present = set(places())
    assert sorted(present - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - present) == [], "exceptions that are gone"


QUESTIONS = """
from runs import kinds
from runs.kinds import EVALUATION, kind_of

METHOD = "probe"
STYLES = {"es": 1, "grpo": 2}
def ask(run, runs):
    run.method == "es"
    run.method not in ("evaluate", "probe")
    run.kind is kinds.PROBE
    run.method in EVALUATION.methods
    runs.filter(run__method__in=["es"])
    run.is_probe
    if config.evaluate is not None or run.run_config.probe:
        pass
    match run.kind.origin.slug:
        case "imported":
            pass
"""
READINGS = """
from runs import kinds
from runs.models import EVALUATION

def read(run, runs, response):
    run.kind.can_be_judged
    run.method in kinds.EXAMINABLE_METHODS
    runs.of_kind(kinds.PROBE)
    runs.filter(method=run.method)
    response.split == EVALUATION
    {"method": kinds.PROBE.method, "probe": {}}
    run.config.task, METHODS[config.method].reads_model
"""


def test_questions_finds_each_way_to_ask() -> None:
    assert sorted(questions(QUESTIONS)) == [
        "'imported'", "METHOD = 'probe'", "config.evaluate", "run.is_probe",
        "run.kind is kinds.PROBE", "run.method == 'es'",
        "run.method in EVALUATION.methods", "run.method not in ('evaluate', 'probe')", "run.run_config.probe",
        "runs.filter(run__method__in=['es'])", "table of es, grpo",
    ]  # fmt: skip
    assert list(questions(READINGS)) == []


def test_template_questions_finds_each_way_to_ask() -> None:
    asks = "{% if run.method == 'es' %}{% elif run.is_probe %}{% if \"probe\" in run.kind.methods %}"
    assert len(template_questions(asks)) == 3
    assert template_questions("{% if run.kind.counts_parts %}{% url 'evaluate' %}{{ run.method }}") == []


def test_styles_and_scripts_find_each_way_to_ask() -> None:
    assert STYLE.search('.page:has([name="method"][value="es"]:checked)')
    assert STYLE.search('[data-method="probe"]')
    assert SCRIPT.search('if (run.method === "grpo")')
