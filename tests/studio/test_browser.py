"""The studio in a real browser: the whole job on a messy file, runs compared, sensors placed on the drawing."""

import re
from pathlib import Path

import pytest
from visitor import Visitor

pytestmark = pytest.mark.browser


def test_the_whole_job_on_a_messy_file(browser, studios, messy, tmp_path):
    """From an empty folder and a CSV to a report, with the mouse: decimal commas, g, a gap, three ground components."""
    studio = studios()
    visitor = Visitor(browser, studio)
    page = visitor.page
    assert "token" not in page.url
    (tmp_path / "messy.csv").write_text(messy)

    page.set_input_files("#bring", tmp_path / "messy.csv")
    page.wait_for_selector(".channels")
    text = page.inner_text("#panel")
    assert "decimal commas" in text and "misses 12 of 2000 samples" in text and "is dead" in text
    assert "3 channels may be components of the ground motion" in text
    visitor.button("Use these channels").click()
    page.get_by_text("Say which channel is the ground motion").wait_for()  # it is asked for, not guessed
    for channel, use, place in (("Shaker NS", "ground", ""), ("Floor 1", "absolute_acceleration", "0")):
        page.get_by_label(f"What {channel} is").select_option(use)
        if place:
            page.get_by_label(f"Place of {channel}").fill(place)
    page.get_by_label("What Roof is").select_option("absolute_acceleration")
    visitor.button("Use these channels").click()
    page.get_by_text("Give 'Roof' a place").wait_for()
    page.get_by_label("Place of Roof").fill("roof")
    visitor.button("Use these channels").click()
    page.wait_for_selector("#message.good")
    visitor.picture("data")
    visitor.is_accessible()
    visitor.fits()

    visitor.step("2 Structure")
    page.get_by_label("First frequency").fill("2.5")
    visitor.button("Make it").click()
    page.wait_for_selector("#drawing svg")
    assert 'law = "linear"' in page.input_value("#toml") and 'channel = "Roof"' in page.input_value("#toml")
    assert page.locator("#drawing .sensor").count() == 2
    assert page.locator("#drawing .load").count() == 1
    page.wait_for_selector("#traces canvas")  # simulated at once, beside what was measured
    page.wait_for_selector("#simulated[data-milliseconds]", state="attached")
    slider = page.get_by_role("slider", name="Value of storeys[0].stiffness")
    before = page.locator("#simulated").get_attribute("data-milliseconds")
    slider.evaluate("e => { e.value = -0.1; e.dispatchEvent(new Event('input')); }")
    page.wait_for_function("t => document.querySelector('#simulated').dataset.milliseconds !== t", arg=before)
    visitor.picture("structure", top=False)
    visitor.is_accessible()
    page.locator('[id="storeys[1]:0"]').press("Enter")  # by keyboard
    value = page.get_by_role("textbox", name="Value of storeys[1].stiffness")
    value.fill("11 MN/m")
    value.blur()
    page.wait_for_function("() => document.querySelector('#toml').value.includes('11 MN/m')")
    visitor.button("Undo").click()
    page.wait_for_function("() => !document.querySelector('#toml').value.includes('11 MN/m')")
    assert visitor.button("Undo").is_enabled()
    visitor.button("Show all").click()

    visitor.step("3 Ask")
    visitor.button("What can be found?").click()
    page.wait_for_selector("#expected table")
    assert "storeys[0].stiffness" in page.inner_text("#expected")
    visitor.picture("ask")
    visitor.is_accessible()

    visitor.step("4 Run")
    visitor.button("Identify").click()
    page.wait_for_selector(".job.running")
    page.get_by_role("region", name="Log of run 1").get_by_text("fitting").wait_for()
    visitor.picture("run")
    page.wait_for_selector(".job.done")
    visitor.is_accessible()

    visitor.step("5 Look")
    page.wait_for_selector(".result table")
    found = dict(re.findall(r"(storeys\[\d\]\.stiffness)\s+([\d.]+) ±", page.inner_text(".result")))
    assert float(found["storeys[0].stiffness"]) == pytest.approx(12.0, rel=0.01)
    assert float(found["storeys[1].stiffness"]) == pytest.approx(9.0, rel=0.01)
    visitor.button("Show the report").click()
    report = page.frame_locator("iframe.report")
    report.get_by_text("The model fits").first.wait_for()
    assert (
        report.locator("body").evaluate("() => { try { return !!parent.document; } catch { return false; } }") is False
    )
    with page.expect_download() as fetched:
        visitor.button("Download result.h5").click()
    assert Path(fetched.value.path()).read_bytes().startswith(b"\x89HDF")
    page.click("#theme")
    visitor.picture("dark")
    page.set_viewport_size({"width": 1024, "height": 768})  # a tablet, then upright
    for name in ("1 Data", "2 Structure", "3 Ask", "4 Run", "5 Look", "Live"):
        visitor.step(name)
        visitor.is_accessible()
        visitor.fits()
    page.set_viewport_size({"width": 768, "height": 1024})
    visitor.step("2 Structure")
    page.wait_for_function("() => document.querySelector('#traces canvas').clientWidth < 740")
    visitor.fits()
    visitor.picture("tablet")
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()


def test_runs_are_compared_and_predict_under_another_record(browser, studios, finished_runs):
    studio = studios(folder=finished_runs)
    visitor = Visitor(browser, studio)
    page = visitor.page
    visitor.step("5 Look")
    page.wait_for_selector("#comparison")
    for run in (1, 2):
        page.get_by_label(f"run {run}", exact=True).check()
    table = page.get_by_role("region", name="Estimates ± 2σ side by side")
    assert table.inner_text().count("±") == 5  # two unknowns of two runs, and the caption
    page.locator("#predict-record").select_option("other.csv")
    visitor.button("Draw the predictions").click()
    page.wait_for_selector("#predicted canvas")
    peaks = page.get_by_role("region", name="Predicted peaks side by side").locator("tbody td").all_inner_texts()
    assert len(peaks) == 3 and peaks[0] != peaks[1] and peaks[2] == "–"
    assert page.locator("#comparison .legend .key").count() == 3
    visitor.picture("compare")
    visitor.is_accessible()
    visitor.fits()
    page.get_by_label("run 2", exact=True).uncheck()
    assert page.locator("#predicted").count() == 0  # a picture never shows other runs than those chosen
    page.locator("#predict-drive").fill("UD")
    page.locator("#predict-drive").blur()
    visitor.button("Draw the predictions").click()
    page.get_by_text("UD").first.wait_for()
    page.wait_for_selector("#message.bad")
    assert visitor.requested == {studio.host}
    page.close()


def test_a_sensor_is_placed_on_the_drawing(browser, studios, tower_fits):
    studio = studios()
    studio.ask("PUT", "projects/tower.toml", {"text": (tower_fits / "tower.toml").read_text(), "mark": None})
    visitor = Visitor(browser, studio)
    page = visitor.page
    page.keyboard.press("Tab")  # all of it by keyboard
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.get_by_role("tab", name="1 Data").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-ask"
    page.wait_for_selector("#drawing .sensor")
    visitor.button("Where do they tell most?").press("Enter")
    page.wait_for_selector("#drawing .suggested")
    assert "At 0: then storeys[0].stiffness" in page.inner_text("#placed")
    visitor.picture("place")
    visitor.is_accessible()
    visitor.button("Add to the project").press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#drawing .sensor:not(.suggested)').length === 2")
    assert page.input_value("#toml").count("[[sensors]]") == 2 and page.locator("#drawing .suggested").count() == 0
    assert visitor.errors == [] and visitor.requested == {studio.host}
    page.close()
