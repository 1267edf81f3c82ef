// The page: what is set, when the service is asked for what, and the address that carries it all.
//
// While a first picture is under way, moves are only noted, and the last one is asked for when it
// arrives. Then the picture is refined line by line until something moves, which aborts it.

import { stream, LostError } from "./api.js";
import { pins, plot } from "./chart.js";
import { allowed, build, make, parse } from "./controls.js";
import { save, show as showReport, startData } from "./data.js";

const OWN = "data"; // the view of one's own data
const CALM = 800; // ms without a move, after which the next one is a new place to go back to
const RETRY = 1000; // ms before a lost server is asked again

const get = (id) => document.getElementById(id);
const state = { view: "", values: {}, pin: null };
let spec = null;
let setters = {};
let content = null; // the answer so far
let complaint = "";
let moved = 0; // when
let push = false; // whether the next address is a new place
let asking = null; // the request under way

// ---- values

function current(values = state.values) {
    return Object.fromEntries(spec.views[state.view].controls.map((name) => [name, values[name]]));
}

function defaults() {
    return Object.fromEntries(Object.values(spec.controls).map((c) => [c.name, c.default]));
}

function set(name, value) {
    state.values[name] = value;
    bound();
    move();
}

function setAll(values) {
    for (const [name, value] of Object.entries(values)) {
        state.values[name] = value;
        setters[name](value);
    }
    bound();
}

// A sequence has no more signal tokens than tokens: the slider ends there.
function bound() {
    const { n_tokens: tokens, n_signal: signal } = state.values;
    setters.n_signal(state.values.n_signal = Math.min(signal, tokens));
}

function move() {
    const now = performance.now();
    push = push || now - moved > CALM;
    moved = now;
    complaint = "";
    arrange();
    ask();
}

// ---- the address

function write() {
    const query = new URLSearchParams({ view: state.view, ...current() });
    if (state.pin) {
        query.set("pin", state.pin.query);
    }
    if (`?${query}` !== location.search) {
        history[push ? "pushState" : "replaceState"](null, "", `?${query}`);
    }
    push = false;
}

// Values of a query, and what is wrong with the others.
function read(query) {
    const values = {};
    const wrong = [];
    for (const [name, text] of query) {
        const control = Object.hasOwn(spec.controls, name) && spec.controls[name];
        const value = control ? parse(control, text) : undefined;
        if (value !== undefined) {
            values[name] = value;
        } else {
            wrong.push(control ? `${control.label} must be ${allowed(control)}, not ${text}` : `there is no ${name}`);
        }
    }
    const most = values.n_tokens ?? spec.controls.n_tokens.default;
    if (values.n_signal > most) {
        wrong.push(`${values.n_signal} signal tokens do not fit into a sequence of ${most}`);
        delete values.n_signal;
    }
    return [values, wrong];
}

async function follow() {
    const query = new URLSearchParams(location.search);
    const view = query.get("view") ?? Object.keys(spec.views)[0];
    const pin = query.get("pin");
    query.delete("view");
    query.delete("pin");
    const [values, wrong] = read(query);
    state.view = Object.hasOwn(spec.views, view) ? view : Object.keys(spec.views)[0];
    if (state.view !== view) {
        wrong.unshift(`there is no view ${view}`);
    }
    setAll({ ...defaults(), ...values });
    complaint = wrong.length ? `Part of this link is left out: ${wrong.join("; ").slice(0, 200)}.` : "";
    state.pin = pin && state.view !== OWN ? { query: pin, curves: state.pin?.query === pin ? state.pin.curves : [] } : null;
    push = false;
    content = null;
    arrange();
    ask();
    if (state.pin && !state.pin.curves.length) { // it came with a link
        const mine = state.pin;
        const asked = current({ ...defaults(), ...read(new URLSearchParams(pin))[0] });
        await stream("POST", `/api/views/${state.view}`, { values: asked }, null, (line) => {
            mine.curves = line.figures ? pins(line.figures) : mine.curves;
        });
        show();
    }
}

// ---- asking for pictures

function ask() {
    if (state.view === OWN) {
        stop();
        document.body.classList.remove("refused");
        write();
    } else if (asking && !asking.answered && asking.view === state.view) {
        asking.late = true;
    } else {
        send();
    }
}

function stop() {
    asking?.controller.abort();
    asking = null;
    document.body.classList.remove("busy", "working");
}

async function send(simulate = false) {
    stop();
    const mine = asking = { controller: new AbortController(), view: state.view, answered: false, late: false };
    document.body.classList.add("busy");
    const again = () => mine.late && asking === mine && (send(), true);
    try {
        await stream("POST", `/api/views/${mine.view}`, { values: current(), simulate }, mine.controller.signal, (line) => {
            if (line.figures && !mine.answered) {
                mine.answered = true;
                content = {};
                document.body.classList.remove("refused", "lost");
                if (again()) {
                    return;
                }
                write();
            }
            if (asking === mine) {
                content = { ...content, ...line };
                show(Boolean(line.figures));
            }
        });
    } catch (error) {
        if (error.name === "AbortError" || asking !== mine || again()) {
            return;
        }
        if (error instanceof LostError) {
            document.body.classList.add("lost");
            get("sentence").textContent = error.message;
            setTimeout(() => asking === null && state.view !== OWN && send(), RETRY);
        } else {
            document.body.classList.add("refused");
            complaint = complaint.endsWith(error.message) ? complaint : `${complaint} ${error.message}`.trim();
            get("sentence").textContent = complaint; // until something moves
        }
    }
    if (asking === mine) {
        stop();
    }
}

// ---- showing

function show(redraw = true) {
    if (!content?.figures || state.view === OWN) {
        return;
    }
    const { figures, sentence, progress } = content;
    get("sentence").textContent = complaint || sentence;
    get("facts").replaceChildren(...Object.entries(content.facts ?? {}).map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value))));
    get("python").textContent = spec.views[state.view].python.replace(/\{(\w+)\}/g, (_, name) => JSON.stringify(state.values[name]));
    get("progress").textContent = progress ? `${progress} …` : "";
    document.body.classList.toggle("working", Boolean(progress) && asking !== null);
    get("pin").hidden = !pins(figures).length;
    get("unpin").hidden = !state.pin;
    if (redraw) { // many lines are signs of life only
        plot(get("figure"), figures, state.pin?.curves);
    }
}

// Show the controls of the view, and of those only what matters.
function arrange() {
    const own = state.view === OWN;
    for (const tab of document.querySelectorAll("#tabs button")) {
        tab.setAttribute("aria-current", tab.dataset.view === state.view ? "page" : "false");
    }
    document.body.dataset.view = state.view;
    document.querySelector(".controls").hidden = get("figure").hidden = get("actions").hidden = get("below").hidden = own;
    get("data").hidden = !own;
    const about = spec.views[state.view];
    document.title = `${about.title} · sparsetoken explorer`;
    if (own) {
        get("sentence").textContent = "Which tokens of your sequences matter, how well does that work, and would more data help?";
    }
    for (const element of document.querySelectorAll(".control")) {
        const name = element.dataset.name;
        const [by, value, equal] = spec.dependent[name] ?? [];
        const matters = !by || !about.controls.includes(by) || (state.values[by] === value) === equal;
        element.hidden = !about.controls.includes(name) || !matters;
    }
    for (const group of document.querySelectorAll(".group")) {
        group.hidden = !group.querySelector(".control:not([hidden])");
    }
    get("simulate").hidden = !about.simulates || state.values.quantity === "training";
    get("again").hidden = !about.controls.includes("random_state");
}

// ---- buttons

function csv() {
    const columns = { ...content.table };
    const length = Math.max(0, ...Object.values(columns).map((c) => c.length));
    for (const [name, value] of Object.entries(current())) {
        columns[name] ??= Array(length).fill(value);
    }
    const lines = Array.from({ length }, (_, i) => Object.values(columns).map((c) => c[i]).join(","));
    return [Object.keys(columns).join(","), ...lines, ""].join("\n");
}

async function copy(button, text) {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
}

function listen() {
    get("simulate").addEventListener("click", () => send(true));
    get("cancel").addEventListener("click", stop);
    get("again").addEventListener("click", () => {
        const next = (state.values.random_state + 1) % (spec.controls.random_state.high + 1);
        setters.random_state(next);
        set("random_state", next);
    });
    const keep = (pin) => {
        state.pin = pin;
        push = true;
        write();
        show();
    };
    get("pin").addEventListener("click", () =>
        keep({ query: String(new URLSearchParams(current())), curves: pins(content.figures) }));
    get("unpin").addEventListener("click", () => keep(null));
    get("csv").addEventListener("click", () => save("text/csv", csv(), `${state.view}.csv`));
    for (const format of ["svg", "png"]) {
        get(format).addEventListener("click", () => [...get("figure").children].forEach((drawn, i) =>
            window.Plotly.downloadImage(drawn, { format: format, filename: `sparsetoken-${state.view}${i ? `-${i + 1}` : ""}`, scale: format === "png" ? 2 : 1 })));
    }
    get("link").addEventListener("click", () => copy(get("link"), location.href));
    get("copy").addEventListener("click", () => copy(get("copy"), get("python").textContent));
    get("explain").addEventListener("click", () => {
        const on = document.body.classList.toggle("explained");
        get("explain").setAttribute("aria-pressed", String(on));
    });
    get("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme !== "dark"));
    window.addEventListener("popstate", follow);
    window.matchMedia("(max-width: 760px)").addEventListener("change", show);
}

function paint(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    get("theme").textContent = dark ? "Light" : "Dark";
    localStorage.setItem("theme", dark ? "dark" : "light");
    show();
    showReport();
}

function go(view) {
    if (view !== state.view) {
        state.view = view;
        content = state.pin = null;
        push = true;
        move();
    }
}

function reset(values = {}) {
    setAll({ ...defaults(), ...values });
    push = true;
    move();
}

async function begin() {
    const kept = localStorage.getItem("theme");
    paint(kept ? kept === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
    spec = await (await fetch("/api/explorer")).json();
    spec.controls.n_signal.limit = () => state.values.n_tokens;
    setters = build(get("groups"), spec, set);
    spec.views[OWN] = { title: "Your data", question: "What is in your own sequences?", controls: [] };
    for (const [name, { title, question }] of Object.entries(spec.views)) {
        const tab = make("button", { type: "button", title: question }, title);
        tab.dataset.view = name;
        tab.addEventListener("click", () => go(name));
        get("tabs").append(tab);
    }
    for (const [name, values] of [...Object.entries(spec.presets), ["Reset", {}]]) {
        const button = make("button", { type: "button" }, name);
        button.addEventListener("click", () => reset(values));
        get("presets").append(button);
    }
    get("close").addEventListener("click", () => { get("welcome").hidden = true; });
    get("welcome").hidden = location.search !== "";
    startData(spec, () => go(OWN));
    listen();
    await follow();
}

begin().catch((error) => { get("sentence").textContent = error.message; });
