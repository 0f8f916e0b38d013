"""Files dropped on the import page become runs, with their folders, and can be moved to the trash again."""

from __future__ import annotations

from pathlib import Path

from django.template.defaultfilters import filesizeformat
from playwright.sync_api import Page, expect

from runs.models import Run
from tests.browser.axe import View, check_views
from tests.runs.importing.sample_logs import iteration

DROP = """(drop, [names, texts]) => {
  const data = new DataTransfer();
  names.forEach((name, i) => data.items.add(new File([texts[i]], name)));
  drop.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_dropped_files_are_imported(signed_in: Page, address: str, runs_dir: Path, views: tuple[View, ...]) -> None:
    page = signed_in
    page.goto(f"{address}/import/")
    valid_log, broken_log = iteration(1) + iteration(4), iteration(1) + "Iteration 2/4, Time: ##\n"
    page.locator("file-drop").evaluate(DROP, [["es_seed3.log", "alpha0.5_sigma0.1_seed4.log"], [valid_log, broken_log]])
    size = filesizeformat(len((valid_log + broken_log).encode()))
    expect(page.locator("file-drop [data-announce-key]")).to_have_text(f"2 files, {size}")
    page.get_by_role("combobox", name="Experiment").fill("Dropped")
    page.get_by_role("button", name="Import").click()
    result = page.get_by_role("region", name="Import result")
    expect(result.get_by_role("status")).to_contain_text("2 new runs in Dropped.")
    expect(result).to_contain_text("line 2: iteration 2 has no readable number")
    assert check_views(page, views) == "{}"
    assert {*Run.objects.values_list("seed", flat=True)} == {3, 4}
    result.get_by_role("link", name="seed 4").click()
    expect(page.get_by_role("heading", name="es α0.5 σ0.1 seed 4")).to_be_visible()
    page.go_back()


def test_size_of_selected_file_has_the_unit_of_the_page(signed_in: Page, address: str) -> None:
    signed_in.goto(f"{address}/import/")
    for size in (1, 1023, 1024, 1536, 2**20 - 1, 2**20, 5 * 2**20 + 2**19):
        file = {"name": "a.log", "mimeType": "text/plain", "buffer": b"x" * size}
        signed_in.get_by_label("Files, folders, zip or tar").set_input_files(file)
        expect(signed_in.locator("file-drop [data-announce-key]")).to_have_text(f"1 file, {filesizeformat(size)}")


def test_folder_name_sets_config_of_imported_run_and_undo_moves_it_to_trash(
    signed_in: Page, address: str, runs_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "alpha0.25_sigma0.5"
    folder.mkdir()
    (folder / "seed7.log").write_text(iteration(4))
    page = signed_in
    page.goto(f"{address}/import/")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a folder").click()
    chooser.value.set_files(folder)
    size = filesizeformat((folder / "seed7.log").stat().st_size)
    expect(page.locator("file-drop [data-announce-key]")).to_have_text(f"1 file, {size}")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("link", name="es α0.25 σ0.5 seed 7")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Moved Imported with its imported runs to the trash")).to_be_visible()
    page.goto(f"{address}/bin/")
    expect(page.get_by_role("region", name="Experiments")).to_contain_text("Imported")
