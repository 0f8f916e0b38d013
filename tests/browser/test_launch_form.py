import pytest
from playwright.sync_api import expect

from tests.runs.model_files import QWEN2_7B, write_model_config


@pytest.fixture
def form(signed_in, address, experiment):
    signed_in.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    expect(signed_in.locator("#standing")).to_contain_text("Ready: 1 run. No time estimate yet")
    return signed_in


def test_mistake_is_reported_at_its_field_while_typing(form):
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


def test_mistake_unfolds_its_field(form):
    memory = form.locator("[name='compute.memory_mb']")
    memory.evaluate("e => { e.value = 'lots'; e.dispatchEvent(new Event('input', { bubbles: true })) }")
    expect(form.locator("[id='id_compute.memory_mb_problems']")).to_be_visible()


def test_changed_preset_is_checked_immediately(form):
    form.get_by_label("Start from").select_option("grpo-micro")
    expect(form.locator("[name='method'][value='grpo']")).to_be_checked()
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")


def test_gpu_memory_appears_only_for_gpu_runs(form, local, tmp_path):
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path)]}
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


def test_scorer_form_shows_only_scorer_fields(form):
    form.get_by_label("A scorer, no training").check()
    expect(form.locator("#part-scorer")).to_be_visible()
    for part in ("task", "es", "grpo", "evaluation"):
        expect(form.locator(f"#part-{part}")).to_be_hidden()
    expect(form.locator("#standing")).to_contain_text("Ready: 1 run.")
