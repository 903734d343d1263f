# SPDX-License-Identifier: MIT
"""The page of ``armnn view`` in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from armnn.viewing import page as html_of

Open = Callable[..., Page]
SECONDS = 2.0


def test_the_graph_goes_from_top_to_bottom_with_parts_and_borders(
    open_page: Open, small: Path
) -> None:
    page = open_page(small)
    expect(page.locator("#totals")).to_contain_text("12 layers")
    assert page.locator(".box").count() == 2
    assert page.locator(".node:not(.box)").count() == 14
    assert page.locator(".edge.border").count() == 2
    tops = [page.locator(f'[data-item="l{n}"]').bounding_box()["y"] for n in (0, 1, 7, 13)]  # type: ignore[index]  # all are drawn
    assert tops == sorted(tops)


def test_names_are_texts_and_never_markup(open_page: Open, small: Path) -> None:
    page = open_page(small)
    expect(page.locator("#title")).to_contain_text("<img src=x")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4


def test_a_click_shows_the_layer(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.locator('[data-item="l7"]').click()
    details = page.locator("#details")
    for text in ("act6", "Activation", "CpuRef", "TanH", "Float32[1,8]", "share"):
        expect(details).to_contain_text(text)
    assert page.locator(".edge.chosen").count() == 2


def test_a_layer_between_conversions_has_a_sign(
    open_page: Open, small: Path, tmp_path: Path
) -> None:
    inside = small.read_text().split('id="document" type="application/json">')[1]
    document = json.loads(inside.split("</script>")[0])
    document["nodes"][7]["conversion"] = "computes in Float32 between conversions"
    html = tmp_path / "converted.html"
    html.write_text(html_of(document))
    page = open_page(html)
    assert page.locator(".mark").count() == 1
    expect(page.locator("#legend")).to_contain_text("between conversions")
    page.get_by_label("Activation act6 on CpuRef, with conversions").click()
    expect(page.locator("#details")).to_contain_text("computes in Float32 between conversions")


def test_the_slowest_layer_leads_the_list_and_a_click_finds_it(
    open_page: Open, small: Path
) -> None:
    page = open_page(small)
    rows = page.locator("#list tbody tr")
    shares = [
        float(text.rstrip(" %"))
        for text in page.locator("#list td:nth-child(4)").all_inner_texts()
        if text
    ]
    assert shares == sorted(shares, reverse=True)
    rows.first.click()
    assert page.locator(".node.chosen").count() == 1


def test_wrong_layers_of_a_comparison_lead_the_list(open_page: Open, compared: Path) -> None:
    page = open_page(compared)
    rows = page.locator("#list tbody tr")
    expect(rows.first).to_contain_text("act6")
    expect(rows.first).to_contain_text("wrong values")
    expect(rows.nth(1)).to_contain_text("mul0")
    assert page.locator(".node rect.wrong").count() == 1
    assert page.locator(".node rect.right").count() == 2


def test_the_keyboard_goes_through_the_list(open_page: Open, small: Path) -> None:
    page = open_page(small)
    rows = page.locator("#list tbody tr")
    assert page.locator('#list tr[tabindex="0"]').count() == 1
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    name = rows.nth(1).locator("td").first.evaluate("cell => cell.firstChild.textContent")
    page.keyboard.press("Enter")
    expect(page.locator("#details h2")).to_have_text(name)


PERFETTO = """<script>
onmessage = (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", "*");
  else document.title = new TextDecoder().decode(event.data.perfetto.buffer);
};
</script>"""
"""Answers as Perfetto's page does; its title becomes the trace that it gets."""


def test_one_link_opens_the_trace_in_perfetto(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.context.route(
        "https://ui.perfetto.dev/**",
        lambda route: route.fulfill(body=PERFETTO, content_type="text/html"),
    )
    with page.expect_popup() as opened:
        page.click("#perfetto")
    opened.value.wait_for_function("document.title !== ''")
    trace = json.loads((small.parent / "trace.json").read_text())
    assert json.loads(opened.value.title()) == trace
    with page.expect_download() as saved:
        page.click("#save")
    assert saved.value.suggested_filename == "trace.json"
    assert json.loads(saved.value.path().read_text()) == trace


def test_without_a_profile_there_is_no_timeline(open_page: Open, large: Path) -> None:
    assert not open_page(large).locator("#perfetto").is_visible()


def test_parts_fold_and_open(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.click("#fold")
    assert page.locator(".folded").count() == 2
    assert page.locator(".node:not(.box)").count() == 5
    page.locator(".folded").first.dblclick()
    assert page.locator(".folded").count() == 1
    page.click("#fold")
    page.click("#fold")
    assert page.locator(".box").count() == 2


def test_search_finds_by_name_and_type_also_in_folded_parts(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.click("#fold")
    page.keyboard.press("/")
    page.keyboard.type("activation")
    expect(page.locator("#hits")).to_have_text("3 found")
    page.keyboard.press("Enter")
    expect(page.locator("#details h2")).to_have_text("act1")
    page.keyboard.press("Escape")
    expect(page.locator("#hits")).to_have_text("")


def test_the_keyboard_reaches_everything(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.locator("#theme").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#canvas') !== null")
    page.keyboard.press("Escape")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#details h2")).to_have_text("act1")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#details h2")).to_have_text("mul0")
    box = page.locator(".box").first
    box.focus()
    page.keyboard.press("Enter")
    assert page.locator(".folded").count() == 1
    page.keyboard.press("Enter")
    assert page.locator(".folded").count() == 0
    assert [box.get_attribute("aria-expanded"), page.locator(".box").count()] == ["true", 2]
    assert page.locator('.node[tabindex="0"]').count() == 1
    labels = page.locator(".node").evaluate_all("all => all.map(each => each.ariaLabel)")
    assert "Activation act6 on CpuRef" in labels


def test_dark_and_light_follow_the_system_and_the_button(open_page: Open, small: Path) -> None:
    def paper(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = open_page(small), open_page(small, dark=True)
    assert (paper(light), paper(dark)) == ("rgb(255, 255, 255)", "rgb(20, 23, 28)")
    light.click("#theme")
    assert paper(light) == paper(dark)


@pytest.mark.parametrize("color", ["backend", "time"])
def test_colors_have_a_legend(open_page: Open, small: Path, color: str) -> None:
    page = open_page(small)
    page.select_option("#color", color)
    expected = {"backend": "CpuAcc: 11 layers", "time": "25 % or more"}[color]
    for each in (expected, "between backends, memory shared"):
        expect(page.locator("#legend")).to_contain_text(each)


CONTRASTS = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opaque = (text) => text.startsWith("rgb(");
  const paper = (element) => {
    const box = element.parentElement.querySelector(":scope > rect");
    const own = element.tagName === "text" && box ? getComputedStyle(box).fill : "";
    if (opaque(own)) return own;
    let each = element;
    while (each && !opaque(getComputedStyle(each).backgroundColor)) each = each.parentElement;
    return getComputedStyle(each ?? document.body).backgroundColor;
  };
  return [...document.querySelectorAll("body *")]
    .filter((each) => [...each.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .filter((each) => !["OPTION", "SCRIPT", "STYLE", "title"].includes(each.tagName))
    .filter((each) => each.checkVisibility() && !each.disabled)
    .map((each) => {
      const style = getComputedStyle(each);
      const ink = each.tagName === "text" ? style.fill : style.color;
      const [one, other] = [light(ink), light(paper(each))].sort((a, b) => b - a);
      return [(one + 0.05) / (other + 0.05), each.textContent];
    });
}"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("color", ["backend", "time"])
def test_texts_stand_out_from_what_is_behind_them(
    open_page: Open, small: Path, color: str, dark: bool
) -> None:
    page = open_page(small, dark=dark)
    page.select_option("#color", color)
    page.locator('[data-item="l7"]').click()
    found = page.evaluate(CONTRASTS)
    assert len(found) > 40
    assert [row for row in found if row[0] < 4.5] == []  # WCAG 2.2, level AA


def test_everything_to_press_has_a_name(open_page: Open, small: Path) -> None:
    page = open_page(small)
    for role in ("button", "searchbox", "combobox", "link"):
        parts = page.get_by_role(role)
        assert parts.count() > 0
        for number in range(parts.count()):
            assert re.match(rf"- '?{role} \".+\"", parts.nth(number).aria_snapshot())


def test_a_narrow_page_has_no_sideways_scroll(open_page: Open, small: Path) -> None:
    page = open_page(small, width=420)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_500_layers_open_soon(open_page: Open, large: Path) -> None:
    """Count processor time, which a busy machine leaves alone."""
    assert large.stat().st_size < 2 << 20
    page = open_page(large)
    assert page.locator(".node:not(.box)").count() == 502
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.reload()
    page.wait_for_selector("html[data-ready]")
    metrics = {
        row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]
    }
    spent = [metrics[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")]
    assert 0 < sum(spent) < SECONDS, metrics
