"""The explorer as a visitor sees it, in a real browser."""

import csv
import json
import re
import shutil
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import sync_playwright

import sparsetoken as st
from app.conftest import start_server, stop_server
from app.test_study import table
from sparsetoken.app.views import VIEWS
from sparsetoken.vocabulary import PARAMETERS

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome in PATH"),
    pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning"),
    # What another test of the same process left behind may be collected while the browser starts.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SQUARE = "loss=square&reg=0.1"
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield found
        found.close()


class Visitor:
    """A page, with what a test wants to do and see."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.troubles, self.requests = [], []
        page.on("console", lambda m: m.type == "error" and self.troubles.append(m.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda request: self.requests.append(request))

    def open(self, query="", *, full=True):
        self.page.goto(f"{self.address}{'?' if query else ''}{query}")
        self.wait("document.querySelector('#sentence').innerText !== ''")
        if full:
            self.settle()

    def settle(self):
        """Wait for the picture in full."""
        self.wait("!document.body.classList.contains('busy')")

    def wait(self, expression, seconds=120.0):
        # The page forbids eval, and with it Playwright's own waiting for expressions.
        deadline = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(20)

    def move(self, action, *, full=True):
        """Do something that changes the address, and wait for the new picture, or its first."""
        before = self.page.url
        action()
        self.wait(f"location.href !== {json.dumps(before)}")
        if full:
            self.settle()

    def control(self, name, kind):
        return self.page.locator(f'[data-name="{name}"] input[type={kind}]')

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    @property
    def sentence(self):
        return self.page.inner_text("#sentence")

    @property
    def facts(self):
        rows = self.page.locator("#facts tr").all()
        return {row.locator("th").inner_text(): row.locator("td").inner_text() for row in rows}

    @property
    def values(self):
        query = parse_qs(urlsplit(self.page.url).query)
        return {name: value for name, (value,) in query.items()}

    def trace(self, name):
        """Return x and y of a curve as they are drawn."""
        return self.page.evaluate(
            """name => {
                const drawn = [...document.querySelector("#figure").children];
                const found = drawn.flatMap((e) => e.data).find((t) => t.name === name);
                return found && [Array.from(found.x), Array.from(found.y)];
            }""",
            name,
        )


def visit(browser, server, **options):
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}} | options)
    return context, Visitor(context.new_page(), server.address)


@pytest.fixture(scope="module")
def context(browser):
    """What the pages share: the files that they have loaded."""
    return browser.new_context(viewport={"width": 1200, "height": 800})


@pytest.fixture
def visitor(server, context):
    found = Visitor(context.new_page(), server.address)
    yield found
    assert found.troubles == []
    assert all(
        request.url.startswith((server.address, "blob:", "data:")) for request in found.requests
    )
    found.page.close()


def test_a_slider_moves_the_curves(visitor):
    visitor.open(f"view=learning&{SQUARE}")
    before = visitor.trace("pooled")[1]
    visitor.control("signal", "range").focus()
    visitor.move(lambda: visitor.page.keyboard.press("ArrowRight"))
    signal = float(visitor.values["signal"])
    assert signal > 5.0
    assert visitor.control("signal", "number").input_value() == visitor.values["signal"]
    x, y = visitor.trace("pooled")
    assert y != before
    problem = st.SparseTokenProblem(10, 1, signal)
    for i in (0, 12, 24):
        found = st.theory.risk(problem, "pooled", alpha=x[i], reg=0.1, loss="square")
        assert y[i] == pytest.approx(found.test_error, rel=1e-5)


@pytest.mark.system
def test_every_view_shows_a_picture_and_the_tabs_lead_there(visitor):
    visitor.open("view=capacity&signal=4&loss=square")
    for name, view in VIEWS.items():
        if name not in ("capacity", "planner"):
            visitor.move(lambda view=view: visitor.press(view.title), full=False)
            assert visitor.page.title().startswith(view.title)
            assert visitor.values["view"] == name
            assert visitor.values["signal"] == "4"  # what was set stays set
            assert visitor.page.evaluate("document.querySelector('#figure > div').data.length") > 0
            assert "signal=4, " in visitor.page.locator("#python").text_content()


@pytest.mark.system
def test_back_and_forward_walk_through_views_and_settings(visitor):
    visitor.open("view=alignment&n_tokens=6")
    visitor.move(lambda: visitor.control("n_tokens", "number").fill("7"))
    visitor.page.wait_for_timeout(900)  # a pause makes the next move a place of its own
    visitor.move(lambda: visitor.control("n_tokens", "number").fill("8"))
    visitor.move(lambda: visitor.press("Capacity"))
    seen = []
    for go in ("go_back", "go_back", "go_back", "go_forward"):
        visitor.move(getattr(visitor.page, go))
        shown = visitor.control("n_tokens", "number").input_value()
        assert shown == visitor.values["n_tokens"]
        seen.append((visitor.values["view"], shown))
    assert seen == [("alignment", n) for n in ("8", "7", "6", "7")]
    assert len(visitor.trace("noise tokens")[0]) == 6


@pytest.mark.system
def test_links_restore_everything_with_what_is_pinned(visitor, browser, server):
    visitor.open(f"view=learning&{SQUARE}&signal=3&features=100")
    pinned = visitor.trace("pooled")
    visitor.move(lambda: visitor.press("Pin"))
    visitor.move(lambda: visitor.control("signal", "number").fill("6"))
    assert visitor.trace("pooled, pinned") == pinned
    context, other = visit(browser, server)
    other.open(urlsplit(visitor.page.url).query)
    whole = f"t.name === 'pooled, pinned' && t.x.length === {len(pinned[0])}"
    other.wait(f"document.querySelector('#figure > div').data.some((t) => {whole})")
    assert other.values == visitor.values
    assert other.trace("pooled") == visitor.trace("pooled")
    assert other.trace("pooled, pinned") == pinned
    other.move(lambda: other.press("Unpin"))
    assert other.trace("pooled, pinned") is None
    other.move(lambda: other.press("Reset"))
    assert other.values["signal"] == "5"
    assert other.values["features"] == "384"
    context.close()


@pytest.mark.system
def test_presets_and_the_welcome(visitor):
    visitor.open(full=False)
    assert visitor.page.locator("#welcome").inner_text().count(".") == 2
    visitor.press("Close")
    assert not visitor.page.locator("#welcome").is_visible()
    visitor.move(lambda: visitor.press("rare events"), full=False)
    assert visitor.values["positive_rate"] == "0.02"
    assert "recall" in visitor.sentence


@pytest.mark.system
def test_a_link_with_a_wrong_part_keeps_the_others(visitor):
    visitor.open("view=constructor&constructor=1&signal=4")
    assert visitor.sentence == (
        "Part of this link is left out: there is no view constructor; there is no constructor."
    )
    assert visitor.values["signal"] == "4"
    visitor.open("view=alignment&n_tokens=0&signal=4")
    assert visitor.sentence == (
        "Part of this link is left out: sequence length must be a whole number from 1 to 1000, "
        "not 0."
    )
    assert (visitor.values["signal"], visitor.values["n_tokens"]) == ("4", "10")
    visitor.open("view=alignment&n_tokens=3&n_signal=4")
    assert "4 signal tokens do not fit into a sequence of 3" in visitor.sentence
    assert (visitor.values["n_signal"], visitor.values["n_tokens"]) == ("1", "3")
    visitor.open("view=phase&x_axis=reg&y_axis=reg&signal=-1")  # and what is left is refused
    assert visitor.sentence == (
        "Part of this link is left out: signal strength must be a number from 0 to 15, not -1. "
        "the two axes must differ."
    )


@pytest.mark.system
def test_wrong_fields_never_reach_the_address(visitor):
    visitor.open("view=alignment")
    before = visitor.page.url
    for text in ("", "0", "2.5", "9999"):
        visitor.control("n_tokens", "number").fill(text)
        assert visitor.page.locator('[data-name="n_tokens"] .wrong').is_visible()
        assert visitor.page.url == before
    visitor.move(lambda: visitor.control("n_tokens", "number").fill("3"))
    assert not visitor.page.locator('[data-name="n_tokens"] .wrong').is_visible()


@pytest.mark.system
def test_signal_tokens_end_where_the_sequence_does(visitor):
    visitor.open("view=alignment&n_tokens=3&n_signal=2")
    before = visitor.page.url
    visitor.control("n_signal", "number").fill("4")
    wrong = visitor.page.locator('[data-name="n_signal"] .wrong')
    assert wrong.inner_text() == "Give a whole number from 1 to 3."
    assert visitor.page.url == before
    visitor.control("n_signal", "range").focus()
    visitor.move(lambda: visitor.page.keyboard.press("End"))
    assert visitor.values["n_signal"] == "3"
    visitor.move(lambda: visitor.control("n_tokens", "number").fill("2"))
    assert visitor.values["n_signal"] == visitor.control("n_signal", "number").input_value() == "2"


@pytest.mark.system
def test_a_refusal_stays_until_something_moves(visitor):
    visitor.open("view=phase&loss=square&x_axis=reg&y_axis=alpha&n_tokens=2", full=False)
    visitor.page.locator("#choice-y_axis").select_option("reg")
    visitor.wait("document.body.classList.contains('refused')")
    assert visitor.sentence == "the two axes must differ."
    visitor.press("Dark")  # draws the old picture again
    assert visitor.sentence == "the two axes must differ."
    visitor.press("Light")
    visitor.move(lambda: visitor.page.locator("#choice-y_axis").select_option("signal"), full=False)
    assert "cross" in visitor.sentence


@pytest.mark.system
def test_errors_of_a_strong_signal_leave_an_axis_that_can_be_read(visitor):
    visitor.open("view=learning&signal=15")
    axis = visitor.page.evaluate("document.querySelector('#figure > div').layout.yaxis")
    assert min(visitor.trace("two-step attention")[1]) < 1e-8
    assert axis["range"][1] - axis["range"][0] < 7
    ticks = visitor.page.locator("#figure .ytick").all_text_contents()
    assert 3 < len(list(filter(None, ticks))) < 9


@pytest.mark.system
def test_a_map_is_drawn_once_for_each_picture(visitor):
    """Most lines of its answer are signs of life: to draw for each would block the page."""
    visitor.open("view=phase&loss=square&x_axis=reg&n_tokens=2&error=0.4")
    visitor.page.evaluate(
        """() => {
            const { react } = window.Plotly;
            window.drawn = 0;
            window.Plotly.react = (...given) => { window.drawn += 1; return react(...given); };
        }"""
    )
    visitor.move(lambda: visitor.control("signal", "number").fill("4"))
    assert 1 <= visitor.page.evaluate("window.drawn") <= 5


@pytest.mark.system
def test_no_words_of_the_command_line(visitor):
    names = [name for name in PARAMETERS if "_" in name] + ["alpha0", "alpha1"]
    words = re.compile(rf"--\w|\b({'|'.join(names)})\b")
    for query in (*(f"view={name}" for name in VIEWS), "view=learning&quantity=training"):
        visitor.open(f"{query}&n_tokens=4", full=False)
        visitor.press("Explain the controls")
        text = visitor.page.evaluate("document.body.innerText")  # without what is folded away
        assert words.findall(text) == [], query
        labels = visitor.page.locator(".line .label:visible").all_inner_texts()
        assert len(set(labels)) == len(labels), query
        symbols = visitor.page.locator(".line .symbol:visible").all_inner_texts()
        shown = [symbol for symbol in symbols if symbol]
        assert len(set(shown)) == len(shown), query


@pytest.mark.system
def test_moves_that_are_overtaken_are_not_asked_for(visitor):
    visitor.open(f"view=learning&{SQUARE}")
    slider = visitor.control("signal", "range")
    slider.focus()
    visitor.requests.clear()
    visitor.move(lambda: [visitor.page.keyboard.press("ArrowRight") for _ in range(30)])
    asked = [r for r in visitor.requests if r.url.endswith("/api/views/learning")]
    assert len(asked) < 30
    assert str(asked[-1].post_data_json["values"]["signal"]) == visitor.values["signal"]
    assert visitor.control("signal", "number").input_value() == visitor.values["signal"]


@pytest.mark.system
def test_planner_gives_a_number_at_once_and_then_the_plan(visitor):
    visitor.open(f"view=learning&{SQUARE}")
    visitor.page.evaluate(  # all that is said: the plan may come before anybody looks
        """query => {
            window.said = [];
            new MutationObserver((records) => {
                const added = records.flatMap((record) => [...record.addedNodes]);
                window.said.push(...added.map((node) => node.textContent));
            }).observe(document.querySelector("#sentence"), { childList: true });
            history.pushState(null, "", query);
            window.dispatchEvent(new PopStateEvent("popstate"));
        }""",
        "?view=planner&plan_model=pooled&features=50&error=0.25",
    )
    visitor.settle()
    said = visitor.page.evaluate("window.said")
    assert "At the usual settings about " in next(words for words in said if "usual" in words)
    n_samples = visitor.facts["samples"]
    assert f"needs at least {n_samples} labelled sequences" in visitor.sentence
    assert visitor.trace("the plan")[0] == [int(n_samples)]
    ticks = list(filter(None, visitor.page.locator("#figure .xtick").all_text_contents()))
    assert len(ticks) > 2
    assert all(re.fullmatch(r"[\d.]+(e\+?\d+)?", tick) for tick in ticks)


def test_a_plan_under_way_does_not_disturb_the_own_data(visitor):
    visitor.open("view=planner&error=0.2", full=False)
    visitor.wait("document.body.classList.contains('working')")
    visitor.move(lambda: visitor.press("Your data"))
    visitor.page.wait_for_timeout(1000)  # until progress of the plan would be told
    assert visitor.sentence.startswith("Which tokens of your sequences matter")
    assert not visitor.page.evaluate("document.body.classList.contains('busy')")


@pytest.mark.system
def test_simulated_points_appear_and_work_is_cancelled(visitor, server):
    visitor.open(f"view=learning&{SQUARE}&dim=40&trials=2&alpha_max=2&n_tokens=3")
    visitor.press("Add simulated points")
    visitor.settle()
    assert len(visitor.trace("pooled, simulated")[0]) == 6
    for leave in (visitor.page.locator("#cancel").click, lambda: visitor.page.goto("about:blank")):
        visitor.open("view=learning&loss=square&dim=400&trials=16&n_tokens=4", full=False)
        visitor.press("Add simulated points")
        visitor.wait("document.querySelector('#progress').innerText.startsWith('1 of')")
        leave()
        deadline = time.monotonic() + 60
        while server.computes():
            assert time.monotonic() < deadline
            visitor.page.wait_for_timeout(50)


DROPPED = """text => {
    const found = new DataTransfer();
    found.items.add(new File([text], "bags.csv"));
    return found;
}"""


@pytest.mark.system
def test_own_data(visitor, server):
    visitor.open("view=alignment")
    text = table(40).replace("bag,label", "case,kind")
    dropped = visitor.page.evaluate_handle(DROPPED, text)
    visitor.page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    assert visitor.page.locator("#drop").is_visible()
    visitor.settle()
    assert "case, kind, a, b, c" in visitor.sentence
    offered = visitor.page.locator("#names option")
    assert [offered.nth(i).get_attribute("value") for i in range(2)] == ["case", "kind"]
    for name, column in (("label", "kind"), ("by", "case")):  # the fold is open
        visitor.page.locator(f"#columns input[name={name}]").fill(column)
        visitor.page.keyboard.press("Tab")
    visitor.settle()
    assert visitor.sentence.startswith("A classifier of 30 sequences labels ")
    report = visitor.page.frame_locator("#report")
    assert report.locator("h1").inner_text() == "bags.csv"
    assert report.locator("h2").all_inner_texts()[-1] == "Would more samples help?"
    sizes = visitor.page.locator("#report").bounding_box()
    assert sizes["height"] > 1000  # all of it, without a second bar to scroll
    paper = "getComputedStyle(document.querySelector('#report').contentDocument.body)"
    light = visitor.page.evaluate(f"{paper}.backgroundColor")
    visitor.press("Dark")
    visitor.wait(f"{paper}.backgroundColor !== {json.dumps(light)}")
    visitor.press("Light")
    with visitor.page.expect_download() as saved:
        visitor.press("Save this report")
    assert saved.value.suggested_filename == "bags.csv.html"
    visitor.page.set_viewport_size(PHONE)
    width = "document.querySelector('#report').contentDocument.documentElement"
    visitor.wait(f"{width}.clientWidth < 390 && {width}.scrollWidth === {width}.clientWidth")
    wrong = {"name": "other.csv", "mimeType": "text/csv", "buffer": b"bag,label,x\n1,a,one\n"}
    visitor.page.set_input_files("#file", wrong)
    visitor.settle()
    assert "other.csv" in visitor.sentence
    names = visitor.page.locator("#columns input")
    assert {names.nth(i).input_value() for i in range(6)} == {""}  # those of the other file
    assert not visitor.page.locator("#report").is_visible()
    assert server.files() == []


@pytest.mark.system
def test_downloads(visitor):
    visitor.open("view=alignment&n_tokens=6&random_state=2")
    with visitor.page.expect_download() as table:
        visitor.press("Data (CSV)")
    assert table.value.suggested_filename == "alignment.csv"
    rows = list(csv.DictReader(table.value.path().open()))
    assert len(rows) == 49
    assert {row["random_state"] for row in rows} == {"2"}
    drawn = visitor.trace("signal tokens")[1]
    kept = [float(row["weight_in_positive"]) for row in rows if row["carries_signal"] == "true"]
    assert kept == pytest.approx(drawn)
    with visitor.page.expect_download() as picture:
        visitor.press("Figure (SVG)")
    assert picture.value.suggested_filename.startswith("sparsetoken-alignment")
    assert picture.value.path().read_text().startswith("<svg")


@pytest.mark.system
def test_dark(browser, server):
    context, visitor = visit(browser, server)
    visitor.open("view=alignment")
    paper = "document.querySelector('#figure > div').layout.paper_bgcolor"
    light = visitor.page.evaluate(paper)
    visitor.press("Dark")
    visitor.wait(f"{paper} !== {json.dumps(light)}")
    visitor.open("view=alignment")
    assert visitor.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert visitor.page.evaluate(paper) != light
    context.close()


@pytest.mark.system
def test_on_a_phone_the_plot_stays_in_sight(visitor):
    visitor.page.set_viewport_size(PHONE)
    visitor.open("view=alignment&loss=square")
    tabs = visitor.page.locator("#tabs button").all()
    assert all(
        0 <= (box := tab.bounding_box())["x"] < box["x"] + box["width"] <= 390 for tab in tabs
    )
    last = visitor.control("random_state", "range")
    last.scroll_into_view_if_needed()
    plot, slider = visitor.page.locator("#figure").bounding_box(), last.bounding_box()
    assert plot["y"] >= 0
    assert plot["y"] + plot["height"] <= slider["y"]
    assert slider["y"] < PHONE["height"]
    for view in VIEWS.values():
        if view.name != "planner":
            if visitor.values["view"] != view.name:
                visitor.move(lambda view=view: visitor.press(view.title), full=False)
            assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390, view.name
    visitor.open(f"view=learning&{SQUARE}", full=False)
    button = visitor.page.get_by_role("button", name="Add simulated points").bounding_box()
    assert button["y"] + button["height"] <= PHONE["height"]  # without scrolling


@pytest.mark.system
def test_the_keyboard_suffices(visitor):
    visitor.open("view=alignment")
    reached = set()
    for _ in range(80):
        visitor.page.keyboard.press("Tab")
        reached.add(
            visitor.page.evaluate(
                """() => {
                    const e = document.activeElement;
                    const control = e.closest("[data-name]")?.dataset.name;
                    return e.id || e.dataset.view || control || e.innerText;
                }"""
            )
        )
    assert {"phase", "number-signal", "choice-loss", "csv", "theme"} <= reached
    visitor.page.locator("#tabs button", has_text="Capacity").focus()
    visitor.move(lambda: visitor.page.keyboard.press("Enter"))
    assert visitor.values["view"] == "capacity"


@pytest.mark.system
def test_a_lost_server_greys_the_plot_and_comes_back(browser, tmp_path):
    server = start_server(tmp_path)
    context, visitor = visit(browser, server)
    try:
        visitor.open("view=alignment")
        stop_server(server)
        visitor.control("n_tokens", "number").fill("7")
        visitor.wait("document.body.classList.contains('lost')")
        assert visitor.sentence.startswith("The server does not answer.")
        grey = "getComputedStyle(document.querySelector('#figure')).filter"
        assert visitor.page.evaluate(grey) == "grayscale(1)"
        server = start_server(tmp_path, urlsplit(server.address).port)
        visitor.wait("!document.body.classList.contains('lost')")
        visitor.wait("document.querySelector('#sentence').innerText.startsWith('Two steps')")
        visitor.wait("new URLSearchParams(location.search).get('n_tokens') === '7'")
    finally:
        context.close()
        stop_server(server)


# What the elements that can be used are called, and what is hardly legible.
UNNAMED = """() => {
    const named = (e) => e.getAttribute("aria-label") || e.innerText?.trim() || e.title
        || [...(e.labels ?? [])].some((label) => label.innerText.trim())
        || document.getElementById(e.getAttribute("aria-labelledby"))?.innerText.trim();
    const used = "button, input, select, a, summary, progress, [role=img], [role=group], nav";
    return [...document.querySelectorAll(used)].filter((e) => e.checkVisibility() && !named(e))
        .map((e) => e.outerHTML.slice(0, 100));
}"""
PALE = """() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => channels(color).slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        const color = getComputedStyle(e).backgroundColor;
        return (channels(color)[3] ?? 1) > 0 || !e.parentElement ? color : behind(e.parentElement);
    };
    const contrast = (e) => {
        const ends = [getComputedStyle(e).color, behind(e)].map(light).sort((a, b) => b - a);
        return (ends[0] + 0.05) / (ends[1] + 0.05);
    };
    const says = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    return [...document.querySelectorAll("body *:not(svg *)")]
        .filter((e) => e.checkVisibility() && says(e) && contrast(e) < 4.5)
        .map((e) => `${e.outerHTML.slice(0, 100)} ${contrast(e).toFixed(2)}`);
}"""
STRUCTURE = """() => {
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    const refers = ["aria-describedby", "aria-labelledby", "for"].flatMap((name) =>
        [...document.querySelectorAll(`[${name}]`)].map((e) => e.getAttribute(name)));
    return {
        lang: document.documentElement.lang,
        landmarks: ["header", "nav", "main", "h1"].map((t) => document.querySelectorAll(t).length),
        twice: ids.filter((id, i) => ids.indexOf(id) !== i),
        nowhere: refers.filter((id) => !ids.includes(id)),
        announced: document.querySelector("#sentence").getAttribute("aria-live"),
        current: document.querySelectorAll("nav [aria-current=page]").length,
    };
}"""


@pytest.mark.system
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser, server, scheme):
    context, visitor = visit(browser, server, color_scheme=scheme)
    for query in ("", "view=alignment", "view=data"):
        visitor.open(query, full=False)
        visitor.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true })"
        )
        assert visitor.page.evaluate(UNNAMED) == [], query
        assert visitor.page.evaluate(PALE) == [], query
        structure = visitor.page.evaluate(STRUCTURE)
        assert structure["landmarks"] == [1, 1, 1, 1]
        assert (structure["lang"], structure["announced"]) == ("en", "polite")
        assert structure["twice"] == structure["nowhere"] == []
        assert structure["current"] == 1
    context.close()


@pytest.mark.system
def test_the_check_of_accessibility_sees_faults(visitor):
    visitor.open("view=data", full=False)
    visitor.page.evaluate(
        """() => document.querySelector("main").insertAdjacentHTML("beforeend",
            "<button></button><p style='color: #999; background: #fff'>pale</p>")"""
    )
    assert visitor.page.evaluate(UNNAMED) == ["<button></button>"]
    assert "pale" in visitor.page.evaluate(PALE)[0]
