# SPDX-License-Identifier: Apache-2.0
"""Tests the HTML pages in a browser. The console must be empty, and no foreign scripts may run.
Tests cover the layout on a wide screen and on a phone, charts by mouse and keyboard, and tables
that sort and filter. The tests compare rectangles, not pixels, because fonts differ."""

import itertools

import browser
import pytest
from test_html import KINDS, REGIONS

PROGRAM = browser.find()
pytestmark = pytest.mark.skipif(
    PROGRAM is None,
    reason=f"no browser: none of {', '.join(browser.NAMES)} is on the path (tools/setup installs the first), and HEWN_BROWSER names none",
)
WIDTHS = [390, 1440]


RECTANGLES = """(() => {
  const of = element => { const r = element.getBoundingClientRect(); return {left: r.left, right: r.right, top: r.top + scrollY, bottom: r.bottom + scrollY}; };
  const all = selector => [...document.querySelectorAll(selector)].map(of);
  return {regions: [...document.querySelectorAll('main > section')].map(s => ({id: s.id, text: s.innerText.trim().length, ...of(s)})),
          main: of(document.querySelector('main')), tiles: all('#overview .tiles > div'), todo: all('.todo > li'), areas: all('.area'),
          cells: [...document.querySelectorAll('table tbody tr')].slice(0, 1).map(r => [...r.cells].filter(c => c.textContent).map(of))[0] || []};
})()"""

# Selects elements that extend beyond the window, except those with their own scroll bars and those
# hidden on purpose (the skip link, table headings in the card layout).
OVERFLOW = """[...document.querySelectorAll('body *')].filter(e => {
  const r = e.getBoundingClientRect();
  return r.width && !e.closest('nav, .skip, thead, #tip') && (r.right > innerWidth + 1 || r.left < -1);
}).slice(0, 5).map(e => e.outerHTML.slice(0, 200))"""

CONTRAST = """(() => {
  const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  const found = [];
  for (const e of document.querySelectorAll('h1, h2, h3, p, a, dt, dd span, th button, td, .nodes, summary, li, code, footer, .mark, .y span, .x span')) {
    if (!e.getClientRects().length) continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([ratio.toFixed(2), e.outerHTML.slice(0, 120)]);
  }
  return {found: found.slice(0, 5), ground: light(getComputedStyle(document.body).backgroundColor)};
})()"""


def apart(rectangles):
    """Asserts that no two rectangles overlap."""
    for i, a in enumerate(rectangles):
        for b in rectangles[:i]:
            covered = (
                min(a["right"], b["right"]) - max(a["left"], b["left"]) > 1
                and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 1
            )
            assert not covered, (a, b)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("key", "kind"), KINDS)
def test_regions_are_where_they_belong(pages, chromium, key, kind, width):
    chromium.open(getattr(pages, f"{key}_{kind}"), width)
    assert chromium.run("window.innerWidth") == width
    assert chromium.run("document.documentElement.scrollWidth") <= width
    assert chromium.run(OVERFLOW) == []
    seen = chromium.run(RECTANGLES)
    regions = seen["regions"]
    assert [region["id"] for region in regions] == REGIONS[kind]
    for region in regions:
        assert region["text"] > 20 and region["bottom"] - region["top"] > 60, region
        assert region["right"] - region["left"] > 0.85 * min(width, 1280), region
        assert abs((region["left"] + region["right"]) - width) < 2, f"{region['id']} is not in the middle"
    for above, below in itertools.pairwise(regions):
        assert above["bottom"] <= below["top"] + 1
    columns = {round(tile["left"]) for tile in seen["tiles"]}
    if kind != "report":
        assert len(columns) == 2 if width < 600 else len(columns) >= 5
        apart(seen["tiles"])
    apart(seen["todo"])
    if width < 600:
        assert len({round(card["left"]) for card in seen["todo"]}) <= 1
    # A table row is a line on a wide screen, and a card with stacked cells on a phone.
    tops = {round(cell["top"]) for cell in seen["cells"]}
    assert len(tops) == (len(seen["cells"]) if width < 600 else 1)
    for area in seen["areas"]:
        assert area["right"] - area["left"] > 0.6 * width * (1 if width < 600 else 0.8)
    assert chromium.complaints() == []


@pytest.mark.parametrize("kind", REGIONS)
def test_hostile_names_do_nothing(pages, chromium, kind):
    chromium.open(getattr(pages, f"hostile_{kind}"), 1440)
    assert (
        chromium.run("document.images.length") == 0
        and chromium.run("document.querySelectorAll('script:not([type])').length") == 1
    )
    assert chromium.run("document.body.innerText").count("<img src=x onerror=alert(1)>") >= 3
    # The page's content security policy also blocks scripts that are inserted later.
    chromium.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned = 1\">')")
    chromium.run("new Promise(done => setTimeout(done, 100))")
    assert chromium.run("window.pwned") is None
    assert not any("asks:" in complaint for complaint in chromium.complaints())


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", REGIONS)
def test_texts_can_be_read(pages, chromium, kind, dark):
    chromium.open(getattr(pages, f"many_{kind}"), 1440, dark=dark)
    seen = chromium.run(CONTRAST)
    assert seen["found"] == [] and (seen["ground"] < 0.1) == dark


@pytest.mark.parametrize(
    ("kind", "picture"),
    [("explain", "#arena"), ("profile", "#arena"), ("profile", "#roofline"), ("profile", "#timeline")],
)
def test_pictures_are_read_by_mouse_and_keyboard(pages, chromium, kind, picture):
    chromium.open(getattr(pages, f"many_{kind}"), 1440)
    items = f"document.querySelectorAll('{picture} [data-picture]:first-of-type [data-item]')"
    tip = "document.getElementById('tip')"
    assert chromium.run(f"{items}.length") > 20
    assert chromium.run(f"{tip}.hidden")
    # Each chart has a single tab stop, not one per item.
    stops = f"[...document.querySelectorAll('{picture} [data-picture]')].map(p => p.querySelectorAll('[tabindex=\"0\"]').length)"
    assert {1} <= set(chromium.run(stops)) <= {0, 1}  # a thread may have executed no task
    chromium.run(f"{items}[0].focus()")
    first = chromium.run(f"{tip}.textContent")
    assert first == chromium.run(f"{items}[0].getAttribute('aria-label')") and not chromium.run(f"{tip}.hidden")
    chromium.key("ArrowRight")
    assert chromium.run(f"document.activeElement === {items}[1]") and chromium.run(f"{tip}.textContent") != first
    chromium.key("End")
    assert chromium.run(f"document.activeElement === {items}[{items}.length - 1]")
    chromium.key("Escape")
    assert chromium.run(f"{tip}.hidden")
    if picture == "#arena":
        assert "of node" in first and " B" in first.replace("kB", " B")
    # Finds a pixel for the mouse: the center of an item that is not covered by another item, with
    # neighbor pixels that belong to the same item. Mouse events have whole pixels, but hit tests
    # use fractions of them.
    place = chromium.run(
        f"""(() => {{
            const top = (x, y) => document.elementFromPoint(x, y)?.getAttribute('aria-label');
            for (const item of {items}) {{
                item.scrollIntoView({{block: 'center'}});
                const box = item.getBoundingClientRect();
                const [x, y] = [Math.round(box.left + box.width / 2), Math.round(box.top + box.height / 2)];
                const around = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].map(at => top(...at));
                if (top(x, y) && around.every(label => label === top(x, y))) return [x, y];
            }}
        }})()"""
    )
    assert place, "no item covers the pixels around its middle"
    at = f"document.elementFromPoint({place[0]}, {place[1]}).getAttribute('aria-label')"
    # The page receives mouse events in an animation frame, which can be late on a busy computer.
    heard = f"new Promise(done => {{ let left = 20; (function look() {{ if ({tip}.textContent === {at} || !--left) done(); else requestAnimationFrame(look); }})(); }})"
    for nudge in range(10):
        chromium.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1] + nudge % 2 / 8)
        chromium.run(heard)
        if chromium.run(f"{tip}.textContent === {at}"):
            break
    assert chromium.run(f"{tip}.textContent") == chromium.run(at) and not chromium.run(f"{tip}.hidden")
    # A late scroll event, for example from the earlier focus, must not change the tooltip of the
    # mouse.
    chromium.run("document.dispatchEvent(new Event('scroll'))")
    assert chromium.run(f"{tip}.textContent") == chromium.run(at) and not chromium.run(f"{tip}.hidden")
    inside = chromium.run(
        f"(() => {{ const r = {tip}.getBoundingClientRect(); return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight; }})()"
    )
    assert inside
    assert chromium.complaints() == []


def test_tables_unfold_filter_and_sort(pages, chromium):
    chromium.open(pages.many_profile, 1440)
    table = "document.querySelector('#kernels table')"
    shown = f"[...{table}.tBodies[0].rows].filter(r => r.getClientRects().length).length"
    every = chromium.run(f"{table}.tBodies[0].rows.length")
    assert every > 40 and chromium.run(shown) == 30
    chromium.run(
        "(() => { const f = document.querySelector('#kernels input'); f.value = 'product 7'; f.dispatchEvent(new Event('input')); })()"
    )
    assert (
        chromium.run(shown) == 1
        and chromium.run("document.querySelector('#kernels [role=status]').textContent") == f"1 of {every}"
    )
    chromium.run(
        "(() => { const f = document.querySelector('#kernels input'); f.value = ''; f.dispatchEvent(new Event('input')); })()"
    )
    chromium.run("document.querySelector('#kernels .more').click()")
    assert chromium.run(shown) == every and not chromium.run(
        "document.querySelector('#kernels .more').getClientRects().length"
    )
    for column, name in ((2, "FLOP"), (0, "Kernel")):
        chromium.run(f"{table}.tHead.rows[0].cells[{column}].querySelector('button').click()")
        order = chromium.run(f"{table}.tHead.rows[0].cells[{column}].getAttribute('aria-sort')")
        assert order == ("descending" if name == "FLOP" else "ascending")
        if name == "FLOP":
            values = chromium.run(f"[...{table}.tBodies[0].rows].map(r => Number(r.cells[{column}].dataset.number))")
            assert values == sorted(values, reverse=True) and len(set(values)) > 20
    assert chromium.complaints() == []


def test_a_page_works_without_its_script(pages, chromium):
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(pages.many_profile, 1440)
        size = chromium.call("Page.getLayoutMetrics")["cssContentSize"]
        assert size["width"] <= 1440 and size["height"] > 2000
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)
