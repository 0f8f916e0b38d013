import re

import pytest
from playwright.sync_api import expect

from runs.models import Run
from tests.runs.model_files import QWEN2_7B, write_model_config


@pytest.fixture
def form(signed_in, address, experiment):
    signed_in.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    expect(signed_in.locator("#standing")).to_contain_text("Ready: 1 run. No time estimate yet")
    return signed_in


@pytest.fixture
def slow_form(form):
    """Return the form on a connection of 1 Mbit/s with a latency of 400 ms."""
    session = form.context.new_cdp_session(form)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {
        "offline": False, "latency": 400, "downloadThroughput": 125_000, "uploadThroughput": 125_000,
    })  # fmt: skip
    return form


def shown_settings(page):
    """Return the names of the settings that are visible."""
    return page.locator(".launch [data-find]:visible").evaluate_all(
        "fields => fields.map((field) => field.querySelector('[name]').name)"
    )


def matching_settings(page, words):
    """Return the names of the settings of the chosen method and task with a text in which all these words occur."""
    page.locator(".launch details").evaluate_all("folds => folds.forEach((fold) => (fold.open = true))")
    texts = page.locator(".launch [data-find]:visible").evaluate_all(
        "fields => fields.map((field) => [field.querySelector('[name]').name, field.dataset.find])"
    )
    page.locator(".launch details").evaluate_all("folds => folds.forEach((fold) => (fold.open = false))")
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words.split()]
    return {name for name, text in texts if all(pattern.search(text) for pattern in patterns)}


def test_mistakes_are_reported_at_their_fields_while_typing_and_unfold_them(form):
    check_mistake(form)
    check_notes(form)
    check_folded_mistake(form)


def check_mistake(form):
    """Check that a mistake is reported at its field while it is typed."""
    sigma = form.locator("[name='es.sigma']")
    sigma.fill("")
    sigma.press_sequentially("tiny")
    expect(form.locator("[id='id_es.sigma_problems']")).to_contain_text("must be a number, not 'tiny'")
    expect(form.locator("#standing")).to_contain_text("1 problem to fix")
    expect(sigma).to_be_focused()
    expect(sigma).to_have_value("tiny")
    expect(sigma).to_have_attribute("aria-invalid", "true")
    assert sigma.evaluate("e => document.getElementById(e.getAttribute('aria-errormessage')).textContent") != ""
    sigma.fill("0.5")
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")
    expect(sigma).not_to_have_attribute("aria-invalid", "true")


def check_notes(form):
    """Check that notes that stop nothing are not red."""
    form.get_by_label("Key 1").select_option("es.sigma")
    form.locator("[name='sweep-values_1']").fill("0.1, 0.2")
    expect(form.locator("#standing")).to_contain_text("Ready: a sweep of")
    ink, bad = (
        form.locator(place).evaluate("e => getComputedStyle(e).color") for place in ("#standing summary", ".danger, h1")
    )
    assert form.locator(".tone-bad").count() == 0
    form.locator("[name='sweep-values_1']").fill("none")
    expect(form.locator("#standing .tone-bad summary")).to_contain_text("1 problem to fix")
    assert form.locator("#standing summary").evaluate("e => getComputedStyle(e).color") not in (ink, bad)


def check_folded_mistake(form):
    """Check that a mistake unfolds its field."""
    memory = form.locator("[name='compute.memory_mb']")
    memory.evaluate("e => { e.value = 'lots'; e.dispatchEvent(new Event('input', { bubbles: true })) }")
    expect(form.locator("[id='id_compute.memory_mb_problems']")).to_be_visible()


def test_method_shows_its_fields_only(form):
    check_scorer(form)
    check_probe(form)
    check_evaluation(form)
    check_changed_preset(form)
    check_task(form)


def check_scorer(form):
    """Check that the form of a scorer has no fields of training."""
    form.get_by_label("A scorer, no training").check()
    expect(form.locator("#part-scorer")).to_be_visible()
    for part in ("task", "es", "grpo", "evaluation"):
        expect(form.locator(f"#part-{part}")).to_be_hidden()
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")


def check_probe(form):
    """Check that the form of an examination has the runs and the task."""
    form.get_by_label("Examination of the weights of a model or of runs, no training").check()
    for part, is_shown in (("probe", True), ("task", True), ("evaluation", True), ("evaluate", False), ("es", False)):
        expect(form.locator(f"#part-{part}")).to_be_visible(visible=is_shown)
    runs = form.locator("[name='probe.runs']")
    expect(runs).to_be_visible()
    expect(form.locator("[name='probe.groups']")).to_be_hidden()
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")
    runs.fill('["run:2222222222"]')
    expect(form.locator("[id='id_probe.runs_problems']")).to_contain_text("you see no such run")


def check_evaluation(form):
    """Check that an evaluation has no interval of evaluations."""
    every = form.locator("[name='evaluation.every']")
    methods = {
        "GRPO": True, "Evaluation of a model or a run, no training": False,
        "Examination of the weights of a model or of runs, no training": False,
    }  # fmt: skip
    for method, is_shown in methods.items():
        form.get_by_label(method).check()
        expect(form.locator("[name='evaluation.prompts']")).to_be_visible()
        expect(every).to_be_visible(visible=is_shown)
    form.get_by_label("Search settings").fill("evaluation.every")
    expect(form.locator("form-search [role=status]")).to_have_text("0 matches. 1 more in another method or task")
    form.get_by_label("Search settings").press("Escape")


def check_changed_preset(form):
    """Check that another preset fills the form and is checked immediately."""
    form.get_by_label("Start from").select_option("grpo-micro")
    expect(form.locator("[name='method'][value='grpo']")).to_be_checked()
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")


def check_task(form):
    """Check that the options of another task are hidden, also after a return to the page."""
    task = form.locator("[name='task.name']")
    for name, is_shown in (("safety", True), ("own", False)):
        task.select_option(name)
        expect(form.locator("[name='task.safety.lambda_rule']")).to_be_visible(visible=is_shown)
        expect(form.locator("[name='task.own.path']")).to_be_visible(visible=not is_shown)
    form.get_by_role("link", name="Back to the experiment").click()
    form.get_by_role("heading", level=1).wait_for()
    form.go_back()
    expect(task).to_have_value("own")
    expect(form.locator("[name='task.own.path']")).to_be_visible()


def test_gpu_memory_appears_only_for_gpu_runs(form, local, tmp_path):
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path)], "gpus": ["0"]}
    local.save()
    cards, gpus = form.locator("#gpu-memory table").first, form.locator("[name='compute.gpus']")
    expect(cards).to_have_count(0)

    form.locator("[name='model.path']").fill("qwen")
    gpus.fill("1")
    expect(cards.get_by_role("row", name="24 GB")).to_contain_text("no")
    expect(cards.get_by_role("row", name="141 GB")).to_contain_text("yes")
    expect(form.locator("#standing")).to_contain_text("GPU memory: fits GPUs of")
    gpus.fill("0")
    expect(cards).to_have_count(0)


SEARCHES = {
    "sigma": {"es.sigma"},
    "σ": {"es.sigma", "es.alpha", "es.layer_scale"},
    "lr": {"es.alpha"},
    "perturbed copies": {"es.population"},
    "no such word": set(),
}
"""What is typed, and settings that match; further ones may match too, each by all typed words."""


def test_search_shows_matching_settings_and_counts_those_of_other_methods(form):
    search = form.get_by_role("searchbox", name="Search settings")
    for typed, names in SEARCHES.items():
        matching = matching_settings(form, typed)
        assert names <= matching and bool(names) == bool(matching), typed
        form.keyboard.press("/")
        expect(search).to_be_focused()
        form.keyboard.type(typed)
        expect(form.locator("form-search [role=status]")).to_contain_text(f"{len(matching)} match")
        assert set(shown_settings(form)) == matching, typed
        expect(form.locator("#part-run")).to_be_hidden()
        expect(form.get_by_role("button", name="Launch")).to_be_visible()
        search.press("Escape")
        search.blur()
    check_folded_settings(form)
    check_other_methods(form)


def check_folded_settings(form):
    """Check that a search opens folded settings and that Escape folds them again."""
    search, rows = form.get_by_label("Search settings"), form.locator("[name='es.hash_every']")
    expect(rows).to_be_hidden()
    search.fill("hash_every")
    expect(rows).to_be_visible()
    search.press("Enter")
    expect(rows).to_be_focused()
    search.press("Escape")
    expect(search).to_have_value("")
    expect(rows).to_be_hidden()
    expect(form.locator("[name='es.sigma']")).to_be_visible()


def check_other_methods(form):
    """Check that matches of other methods are counted."""
    form.get_by_label("Search settings").fill("grpo.learning_rate")
    expect(form.locator("form-search [role=status]")).to_have_text("0 matches. 1 more in another method or task")
    form.get_by_label("Search settings").press("Escape")
    form.get_by_label("GRPO").check()
    form.get_by_label("Search settings").fill("grpo.learning_rate")
    expect(form.locator("form-search [role=status]")).to_have_text("1 match")
    assert shown_settings(form) == ["grpo.learning_rate"]


def test_search_hides_neither_values_nor_errors(form):
    form.locator("[name='es.population']").fill("none")
    expect(form.locator("#standing")).to_contain_text("1 problem to fix")
    form.get_by_label("Search settings").fill("sigma")
    form.locator("[name='es.sigma']").fill("0.02")
    shown = shown_settings(form)
    assert {"es.population", "es.sigma"} <= set(shown) and "es.iterations" not in shown
    form.locator("[name='es.population']").fill("4")
    expect(form.locator("#standing")).to_contain_text("Name: es-micro population=4, σ=0.02 seed 0")
    form.get_by_role("button", name="Launch").click()
    form.get_by_role("heading", name="es-micro population=4, σ=0.02 seed 0", level=1).wait_for()
    run = Run.objects.get()
    assert (run.config["es"]["population"], run.config["es"]["sigma"], run.config["es"]["prompts"]) == (4, 0.02, 8)


def test_sections_are_linked_stay_in_view_and_the_current_one_is_marked(form):
    check_focused_section(form)
    check_section_in_view(form, 1440, 900)
    check_section_in_view(form, 390, 844)
    check_section_links(form)
    form.set_viewport_size({"width": 390, "height": 200})
    form.goto(form.url.partition("#")[0])
    # The first one is, while none is in view.
    expect(form.locator("#part-run")).not_to_be_in_viewport()
    expect(form.get_by_role("navigation", name="Sections").locator("[aria-current]")).to_have_text("Run")


def check_section_links(form):
    """Check that sections are linked and that their links stay in view."""
    links = form.get_by_role("navigation", name="Sections")
    for width, height in ((1440, 900), (390, 844)):
        form.set_viewport_size({"width": width, "height": height})
        links.get_by_role("link", name="Evaluation").click()
        expect(form.locator("#part-evaluation h2")).to_be_in_viewport()
        expect(links.get_by_role("link", name="Run", exact=True)).to_be_in_viewport()
        links.get_by_role("link", name="Run", exact=True).click()
        expect(form.get_by_label("Start from")).to_be_in_viewport()
    expect(links.get_by_role("link", name="GRPO")).to_be_hidden()


def check_section_in_view(form, width, height):
    """Check that the link of the section in view is marked."""
    form.set_viewport_size({"width": width, "height": height})
    form.mouse.move(width / 2, height / 2)
    form.mouse.wheel(0, -9000)
    current = form.get_by_role("navigation", name="Sections").locator("[aria-current]")
    links = form.locator(".launch-sections a")
    places = "links => links.map(({ offsetLeft, offsetWidth, offsetTop }) => [offsetLeft, offsetWidth, offsetTop])"
    expect(current).to_have_text("Run")
    before = links.evaluate_all(places)
    form.get_by_role("link", name="Tracking").click()
    expect(current).to_have_text("Tracking")
    expect(current).to_be_in_viewport(ratio=1)
    assert links.evaluate_all(places) == before
    form.mouse.wheel(0, -9000)
    expect(current).to_have_text("Run")
    form.locator("#part-es").evaluate("section => scrollBy(0, section.getBoundingClientRect().top - 80)")
    expect(current).to_have_text("Evolution Strategies")


def check_focused_section(form):
    """Check that the link of the section with the focus is marked."""
    current = form.get_by_role("navigation", name="Sections").locator("[aria-current]")
    expect(current).to_have_text("Run")
    form.locator("#part-sweep select").first.focus()
    expect(current).to_have_text("Sweep")
    form.keyboard.press("Shift+Tab")
    expect(current).to_have_text("Run")
    form.get_by_role("link", name="Compute").press("Enter")
    expect(current).to_have_text("Compute")
    expect(form.locator("#part-compute h2")).to_be_in_viewport()


def test_choices_of_the_form_show_their_fields_keep_input_and_are_in_the_address(form):
    check_method_switch(form)
    check_task_choice(form)
    form.get_by_label("Start from").select_option("es-tiny-reckless")
    form.wait_for_url("**/launch/?preset=es-tiny-reckless")
    expect(form.locator("[name='es.sigma']")).to_have_value("0.03")


def check_method_switch(page):
    """Check that a method shows its fields and keeps their input."""
    page.locator("[name='es.sigma']").fill("0.5")
    page.get_by_label("GRPO").check()
    expect(page.locator("#part-grpo")).to_be_visible()
    expect(page.locator("#part-es")).to_be_hidden()
    page.get_by_label("Evolution Strategies").check()
    expect(page.locator("[name='es.sigma']")).to_have_value("0.5")


def check_task_choice(page):
    """Check that a task shows its options."""
    page.locator("[name='task.name']").select_option("own")
    expect(page.locator("textarea[name='task.own.options']")).to_be_visible()
    page.get_by_text("More settings: Task").click()
    expect(page.locator("[name='task.reward_seconds']")).to_be_visible()
    expect(page.locator("[name='task.countdown.train_file']")).to_be_hidden()
    page.locator("[name='task.name']").select_option("countdown")
    expect(page.locator("[name='task.countdown.train_file']")).to_be_visible()
    expect(page.locator("[name='task.own.path']")).to_be_hidden()


def test_invalid_form_keeps_input_and_shows_problems_at_their_fields(form, complaints):
    check_invalid_settings(form)
    check_invalid_task(form)
    assert not Run.objects.exists()
    # The form is answered with 400, which the browser's console reports.
    assert [c for c in complaints if "400" not in c] == []
    complaints.clear()


def check_invalid_settings(page):
    """Check that a form with mistakes is shown again, with what was typed."""
    page.locator("[name='es.sigma']").fill("tiny")
    page.get_by_text("More settings: Evolution Strategies").click()
    page.locator("[name='es.rows']").fill("-1")
    page.get_by_role("button", name="Launch").click()
    page.get_by_text("Nothing was launched.").wait_for()
    expect(page.locator("[name='es.sigma']")).to_have_value("tiny")
    # A problem in a folded part opens it.
    expect(page.locator("[name='es.rows']")).to_be_visible()
    page.locator("[name='es.sigma']").fill("0.1")
    page.locator("[name='es.rows']").fill("0")


def check_invalid_task(page):
    """Check that an invalid task of one's own is reported at its field."""
    page.locator("[name='task.name']").select_option("own")
    page.locator("[name='task.own.path']").fill("my_task:Task")
    page.locator("[name='task.own.options']").fill("{words")
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("alert").get_by_text("must be an object, not '{words'").wait_for()
    page.locator("[name='task.own.options']").fill('{"words": 3}')
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("alert").get_by_text("does not allow custom tasks").wait_for()
    expect(page.locator("[name='task.own.options']")).to_have_value('{"words": 3}')


def test_fast_arrow_keys_on_a_slow_connection_end_on_the_last_preset(slow_form):
    presets = slow_form.get_by_label("Start from")
    titles = presets.locator("option").all_text_contents()
    start = titles.index(presets.locator("option:checked").text_content())
    presets.focus()
    for presses in (2, 1):
        with slow_form.expect_request("**/launch/?preset=*"):
            for _ in range(presses):
                slow_form.keyboard.press("ArrowDown")
    expect(presets).to_have_value("es-safety-tiny")
    expect(slow_form.locator("[name='model.path']")).to_have_value("tiny")
    expect(slow_form.locator("[name='task.name']")).to_have_value("safety")
    expect(presets.locator("option:checked")).to_have_text(titles[start + 3])
    expect(presets).to_be_focused()
    slow_form.wait_for_url("**/?preset=es-safety-tiny")


def test_text_typed_while_a_preset_arrives_stays(slow_form):
    slow_form.get_by_label("Seeds").fill("3")
    sigma = slow_form.locator("[name='es.sigma']")
    with slow_form.expect_request("**/launch/?preset=es-tiny-reckless"):
        slow_form.get_by_label("Start from").select_option("es-tiny-reckless")
    sigma.fill("")
    sigma.press_sequentially("0.7")
    expect(slow_form.locator("[name='model.path']")).to_have_value("tiny")
    expect(sigma).to_have_value("0.7")
    expect(sigma).to_be_focused()
    expect(slow_form.locator("[name='es.alpha']")).to_have_value("0.03")
    expect(slow_form.get_by_label("Seeds")).to_have_value("3")


def test_launch_while_a_preset_arrives_waits_for_its_values(slow_form):
    slow_form.get_by_label("Start from").select_option("es-tiny-reckless")
    slow_form.get_by_role("button", name="Launch").click()
    slow_form.get_by_role("heading", name="es-tiny-reckless seed 0", level=1).wait_for()
    run = Run.objects.get()
    assert (run.preset, run.config["es"]["sigma"]) == ("es-tiny-reckless", 0.03)
