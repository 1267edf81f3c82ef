"""The explorer as a visitor sees it, in a real browser."""

import csv
import io
import json
import shutil
import threading
import time
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import sync_playwright
from waitress import create_server

import sparsetoken as st
from sparsetoken.app.jobs import Jobs
from sparsetoken.app.server import make_app

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


@pytest.fixture(scope="module")
def site():
    """Serve the page from this process, with visitors that are forgotten soon."""
    jobs = Jobs(patience=2.0)
    server = create_server(make_app(jobs).server, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield SimpleNamespace(address=f"http://127.0.0.1:{server.effective_port}/", jobs=jobs)
    server.close()
    thread.join(10)
    jobs.close()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield found.new_context(viewport={"width": 1200, "height": 800})
        found.close()


class Visitor:
    """A page, with what a test wants to do and see."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.troubles, self.requests = [], []
        page.on("console", lambda m: m.type == "error" and self.troubles.append(m.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("response", lambda r: r.status >= 400 and self.troubles.append((r.status, r.url)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, query):
        self.page.goto(f"{self.address}?{query}")
        self.settle()

    def settle(self):
        """Wait for the picture in full."""
        self.wait("document.querySelector('#figure .js-plotly-plot')?.data !== undefined")
        self.wait("document.querySelector('#sentence').innerText !== ''")
        self.wait("!document.body.classList.contains('busy')")

    def wait(self, expression, seconds=60.0):
        # The page forbids eval, and with it Playwright's own waiting for expressions.
        deadline = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(20)

    def move(self, action):
        """Do something that changes the picture, and wait for the new one."""
        before = self.page.url
        action()
        self.wait(f"location.href !== {json.dumps(before)}")
        self.settle()

    def control(self, name, kind):
        return self.page.locator(f'[data-name="{name}"] input[type={kind}]')

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
                const data = document.querySelector("#figure .js-plotly-plot").data;
                const found = data.find((trace) => trace.name === name);
                return found && [Array.from(found.x), Array.from(found.y)];
            }""",
            name,
        )


@pytest.fixture
def visitor(site, browser):
    found = Visitor(browser.new_page(), site.address)
    yield found
    found.page.close()
    assert found.troubles == []
    hosts = {
        urlsplit(url).netloc for url in found.requests if not url.startswith(("data:", "blob:"))
    }
    assert hosts == {urlsplit(site.address).netloc}


def pooled(alpha, signal=5.0):
    problem = st.SparseTokenProblem(10, 1, signal)
    return st.theory.risk(problem, "pooled", alpha=alpha, reg=0.1, loss="square").test_error


def test_learning_view_shows_the_theory(visitor):
    visitor.open(f"view=learning&{SQUARE}")
    x, y = visitor.trace("pooled")
    assert len(x) == 25
    assert [x[0], x[-1]] == [0.1, 20]
    for i in (0, 12, 24):
        assert y[i] == pytest.approx(pooled(x[i]), rel=1e-5)
    visitor.move(lambda: visitor.control("signal", "number").fill("8"))
    assert visitor.trace("pooled")[1][-1] == pytest.approx(pooled(20.0, 8.0), rel=1e-5)
    visitor.page.get_by_text("AUC", exact=True).click()
    visitor.wait("document.querySelector('#sentence').innerText.includes('AUC')")
    visitor.settle()
    found = st.theory.risk(
        st.SparseTokenProblem(10, 1, 8.0), "pooled", alpha=20.0, reg=0.1, loss="square"
    )
    assert visitor.trace("pooled")[1][-1] == pytest.approx(found.auc, rel=1e-5)
    assert f"{found.auc:.3g} for pooled" in visitor.sentence


def test_a_slider_moves_number_picture_and_link_which_brings_all_back(visitor):
    visitor.open("view=attention-map&n_tokens=20")
    slider, number = (visitor.control("n_tokens", kind) for kind in ("range", "number"))
    slider.focus()
    visitor.move(lambda: visitor.page.keyboard.press("PageUp"))
    moved = int(number.input_value())
    assert moved > 20
    assert visitor.values["n_tokens"] == str(moved)
    assert sum(len(visitor.trace(f"{kind} tokens")[0]) for kind in ("signal", "noise")) == moved
    for _ in range(5):
        visitor.page.keyboard.press("ArrowUp")
    visitor.settle()
    place, sentence = slider.input_value(), visitor.sentence
    values, picture = visitor.values, visitor.trace("noise tokens")
    assert int(number.input_value()) >= moved
    visitor.page.reload()
    visitor.settle()
    assert visitor.values == values
    assert visitor.sentence == sentence
    assert visitor.trace("noise tokens") == picture
    assert int(slider.input_value()) == pytest.approx(int(place), abs=5)  # of the same 1000


def test_attention_map_draws_another(visitor):
    visitor.open("view=attention-map&seed=3")
    before = visitor.trace("noise tokens")
    visitor.move(visitor.page.locator("#again").click)
    assert visitor.values["seed"] == "4"
    assert visitor.trace("noise tokens") != before
    shown = visitor.trace("signal tokens")[1] + visitor.trace("noise tokens")[1]
    assert sum(shown) == pytest.approx(1.0)


def test_alignment_view_shows_the_theory(visitor):
    visitor.open("view=alignment&positive_rate=0.2&lr_bias=3")
    learned = st.theory.alignment(
        st.SparseTokenProblem(10, 1, 5.0, 0.2), alpha=2.0, lr_bias=3.0, lr_query=20.0
    )
    assert visitor.facts["cosine of query and signal"] == f"{learned.cosine:.4f}"
    assert f"{learned.cosine:.3f}" in visitor.sentence
    x, y = visitor.trace("cosine")
    problem = st.SparseTokenProblem(10, 1, 5.0, 0.2)
    for i in (0, 24, 48):
        found = st.theory.alignment(problem, alpha=x[i], lr_bias=3.0)
        assert y[i] == pytest.approx(found.cosine, rel=1e-9)
    visitor.page.locator('[data-name="loss"]').get_by_text("square").click()
    visitor.wait("new URLSearchParams(location.search).get('loss') === 'square'")
    visitor.settle()
    learned = st.theory.alignment(problem, alpha=2.0, lr_bias=3.0, loss="square")
    assert visitor.facts["cosine of query and signal"] == f"{learned.cosine:.4f}"


def test_tabs_lead_to_capacity_and_phase_which_show_the_theory(visitor):
    visitor.open("view=attention-map&signal=4&loss=square")
    problem = st.SparseTokenProblem(10, 1, 4.0)
    for title, view in (("Capacity", "capacity"), ("Phase diagram", "phase")):
        visitor.page.get_by_role("button", name=title, exact=True).click()
        visitor.wait(f"document.title.startsWith({json.dumps(title)})")
        assert visitor.values["view"] == view
        assert visitor.values["signal"] == "4"  # what was set stays set
        if view == "capacity":
            visitor.wait("document.querySelector('#facts').innerText.includes('capacity')")
            for model in ("pooled", "vectorized"):
                found = float(st.theory.capacity(problem, model))
                assert visitor.facts[f"capacity of {model}"] == f"{found:.3g}"
                assert f"{found:.3g}" in visitor.sentence
    visitor.wait("document.querySelector('#sentence').innerText.includes('at the cross')")
    error = st.theory.risk(problem, "pooled", alpha=2.0, reg=0.01, loss="square").test_error
    assert f"that of pooling {100 * error:.0f}\N{NO-BREAK SPACE}%" in visitor.sentence


def test_planner_gives_the_plan(visitor):
    visitor.open("view=planner&plan_model=pooled&plan_dim=50&target=0.25")
    visitor.wait("document.querySelector('#sentence').innerText.includes('needs')")
    visitor.settle()
    plan = st.plan(
        dim=50, n_tokens=10, n_signal=1, signal=5.0, positive_rate=0.5, error=0.25, model="pooled"
    )
    assert f"Pooled needs {plan.n_samples} labelled sequences" in visitor.sentence
    assert visitor.facts["samples"] == str(plan.n_samples)
    assert visitor.trace("the plan")[0] == [plan.n_samples]


SIMULATED = f"view=learning&{SQUARE}&dim=40&trials=2&alpha_max=2&n_tokens=3"


def test_simulated_points_appear(visitor):
    visitor.open(SIMULATED)
    assert visitor.trace("pooled, simulated") is None
    visitor.page.get_by_role("button", name="Add simulation points").click()
    visitor.page.locator("#working").wait_for(state="visible")
    visitor.page.locator("#working").wait_for(state="hidden", timeout=60_000)
    visitor.settle()
    for model in ("two-step", "pooled", "vectorized"):
        assert len(visitor.trace(f"{model}, simulated")[0]) == 6


def test_work_is_cancelled_by_the_button_and_by_leaving(visitor, site):
    for leave in (visitor.page.locator("#cancel").click, lambda: visitor.page.goto("about:blank")):
        visitor.open("view=learning&loss=hinge&dim=400&trials=16&n_tokens=4")
        visitor.page.get_by_role("button", name="Add simulation points").click()
        visitor.page.locator("#cancel").wait_for(state="visible")
        (job,) = [job for job in site.jobs._jobs.values() if job.state in ("waiting", "running")]
        leave()
        deadline = time.monotonic() + 30
        while job.state != "cancelled":
            assert time.monotonic() < deadline
            visitor.page.wait_for_timeout(50)


def test_what_cannot_be_is_explained(visitor):
    visitor.open("view=learning&n_tokens=0")
    assert visitor.sentence.startswith("This link cannot be shown: Sequence length (n_tokens) must")
    assert visitor.values["n_tokens"] == "10"
    visitor.move(lambda: visitor.control("n_tokens", "number").fill("3"))
    assert visitor.sentence.startswith("At these settings")
    visitor.move(lambda: visitor.control("n_signal", "number").fill("4"))
    assert visitor.sentence.startswith("Signal tokens (n_signal) must be at most the 3 tokens")
    visitor.move(lambda: visitor.control("n_signal", "number").fill(""))
    assert "must be a whole number from 1 to 50" in visitor.sentence
    visitor.move(lambda: visitor.control("n_signal", "number").fill("2"))
    assert visitor.sentence.startswith("At these settings")


def test_theme(visitor):
    visitor.open("view=attention-map")
    paper = "document.querySelector('#figure .js-plotly-plot').layout.paper_bgcolor"
    light = visitor.page.evaluate(paper)
    visitor.page.locator("#theme-switch").click()
    visitor.wait(f"{paper} !== {json.dumps(light)}")
    assert visitor.page.evaluate("document.documentElement.dataset.theme") == "dark"
    visitor.page.reload()
    visitor.settle()
    assert visitor.page.evaluate(paper) != light
    visitor.page.evaluate("localStorage.clear()")  # the next test starts in the light again


def test_a_phone_scrolls_down_only(visitor):
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.open("view=attention-map&loss=square")
    for title in ("Attention map", "Learning curves", "Alignment"):
        visitor.page.get_by_role("button", name=title, exact=True).click()
        visitor.wait(f"document.title.startsWith({json.dumps(title)})")
        visitor.settle()
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390, title


def test_downloads(visitor):
    visitor.open("view=attention-map&n_tokens=6&seed=2")
    with visitor.page.expect_download() as table:
        visitor.page.locator("#table").click()
    assert table.value.suggested_filename == "attention-map.csv"
    rows = list(csv.DictReader(io.StringIO(table.value.path().read_text())))
    drawn = visitor.trace("signal tokens")[1] + visitor.trace("noise tokens")[1]
    after = [float(row["value"]) for row in rows if row["stage"] == "after"]
    assert sorted(after) == pytest.approx(sorted(drawn))
    with visitor.page.expect_download() as picture:
        visitor.page.locator("#svg").click()
    assert picture.value.suggested_filename == "sparsetoken-attention-map.svg"
    assert picture.value.path().read_text().startswith("<svg")
