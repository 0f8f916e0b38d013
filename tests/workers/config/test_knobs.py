"""Form, command line and documentation are made from the knobs: each must say what it is."""

from __future__ import annotations

from workers.config import RunConfig, knobs


def test_every_knob_has_help_that_ends_like_a_sentence() -> None:
    silent = [k.path for k in knobs(RunConfig) if not k.help.endswith((".", "§4)."))]
    assert silent == []


def test_bounds_and_choices_are_read_from_the_types() -> None:
    by_path = {k.path: k for k in knobs(RunConfig)}
    assert by_path["es.noise"].choices == ("full", "low_rank", "correlated")
    assert str(by_path["grpo.top_p"].bounds) == "above 0 and at most 1"
    assert by_path["method"].required


def test_sections_are_walked_in_the_order_of_the_source() -> None:
    paths = [k.path for k in knobs(RunConfig)]
    assert (
        paths.index("method")
        < paths.index("task.options.train_file")
        < paths.index("es.lora.rank")
        < paths.index("grpo.beta")
    )
