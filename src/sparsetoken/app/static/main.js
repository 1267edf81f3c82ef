// The page: what is set, when the service is asked for what, and the address that carries it all.
//
// At most one first picture is under way: while it is, moves are only noted, and the last one is
// asked for when it arrives. Then the picture is refined step by step until something moves.

import { call, visitor, watch, LostError } from "./api.js";
import { learn, plot } from "./chart.js";
import { allowed, build, facts, make, parse } from "./controls.js";
import { leaveData, redrawData, startData } from "./data.js";

const OWN = "data"; // the view of one's own data
const CALM = 800; // ms without a move, after which the next one is a new place to go back to
const PAUSE = 60; // ms before refining, in which another move may come
const ANY = Symbol("anything");
// Of these controls the others say whether they matter.
const ONLY = {
    error: ["quantity", "test_error"], fpr: ["quantity", "recall"],
    // A pasted curve takes the place of a problem.
    ...Object.fromEntries(["plan_model", "features", "n_tokens", "n_signal", "signal", "positive_rate"].map((name) => [name, ["curve", ""]])),
    test_samples: ["curve", ANY],
};
const COUNTED = ["alpha", "alpha0", "alpha_max"]; // per dimension

const get = (id) => document.getElementById(id);
const state = { view: "", values: {}, pin: null };
const results = new Map(); // of work in the background, by view and values
let spec = null;
let setters = {};
let content = null; // the picture shown
let complaint = "";
let sequence = 0;
let moves = 0;
let moved = 0; // when
let push = false; // whether the next address is a new place
let waiting = null;
let job = null;

// ---- values

function current(view = state.view, values = state.values) {
    const { controls, defaults } = spec.views[view];
    const pairs = controls.map((name) => [name, values[name] ?? defaults[name] ?? null]);
    return Object.fromEntries(pairs.filter(([, value]) => value !== null && value !== ""));
}

function defaults(view) {
    const all = Object.fromEntries(Object.values(spec.controls).map((c) => [c.name, c.default]));
    return view === OWN ? all : { ...all, ...spec.views[view].defaults };
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
    moves += 1;
    complaint = "";
    arrange();
    ask();
}

// ---- the address

function address() {
    if (state.view === OWN) {
        return `?view=${OWN}`;
    }
    const query = new URLSearchParams({ view: state.view, ...current() });
    if (state.pin?.view === state.view) {
        query.set("pin", state.pin.query);
    }
    return `?${query}`;
}

function write() {
    const next = address();
    if (next !== location.search) {
        history[push ? "pushState" : "replaceState"](null, "", next);
    }
    push = false;
}

// Values of a query, and what is wrong with it.
function read(query) {
    const values = {};
    for (const [name, text] of query) {
        const control = Object.hasOwn(spec.controls, name) && spec.controls[name];
        const value = control ? parse(control, text) : undefined;
        if (value === undefined) {
            return [{}, control ? `${control.label} must be ${allowed(control)}, not ${text}` : `there is no ${name}`];
        }
        values[name] = value;
    }
    const most = values.n_tokens ?? spec.controls.n_tokens.default;
    if (values.n_signal > most) {
        return [{}, `there are ${values.n_signal} signal tokens in a sequence of ${most}`];
    }
    return [values, ""];
}

async function follow() {
    const query = new URLSearchParams(location.search);
    const view = query.get("view") ?? Object.keys(spec.views)[0];
    const pin = query.get("pin");
    query.delete("view");
    query.delete("pin");
    const exists = Object.hasOwn(spec.views, view) || view === OWN;
    const [values, wrong] = exists ? read(query) : [{}, `there is no view ${view}`];
    state.view = exists ? view : Object.keys(spec.views)[0];
    setAll({ ...defaults(state.view), ...values });
    complaint = wrong && `This link cannot be shown: ${wrong.slice(0, 200)}.`;
    const kept = state.pin?.query === pin && state.pin.view === state.view;
    if (!kept) {
        state.pin = pin && state.view !== OWN ? { view: state.view, query: pin, curves: [] } : null;
    }
    moves += 1;
    push = false;
    arrange();
    ask();
    if (state.pin && !kept) {
        await loadPin(state.pin);
    }
}

// Ask for the curves of a pin that came with a link.
async function loadPin(pin) {
    const [values] = read(new URLSearchParams(pin.query));
    const asked = current(pin.view, { ...defaults(pin.view), ...values });
    let got = null;
    let finest = null;
    for (let step = 0; step === 0 || got; step += 1) {
        got = await call("POST", `/api/views/${pin.view}`,
            { visitor: `${visitor}-pin`, sequence: ++sequence, step: step, values: asked });
        finest = got ?? finest;
    }
    pin.curves = pinned(finest);
    show();
}

// ---- asking for pictures

async function send(step) {
    const mine = { step: step, late: false, move: moves };
    waiting = mine;
    document.body.classList.add("busy");
    const asked = { visitor: visitor, sequence: ++sequence, step: step, values: current() };
    let answer = null;
    let refusal = "";
    try {
        answer = await call("POST", `/api/views/${state.view}`, asked);
    } catch (error) {
        if (error instanceof LostError) {
            waiting = null;
            return lost(error);
        }
        refusal = error.message;
    }
    if (waiting !== mine) {
        return;
    }
    waiting = null;
    if (mine.late) {
        send(0);
        return;
    }
    document.body.classList.toggle("refused", Boolean(refusal));
    if (refusal) {
        document.body.classList.remove("busy");
        complaint = get("sentence").textContent = refusal; // until something moves
        return;
    }
    if (answer) {
        accept(answer, mine);
    } else {
        document.body.classList.remove("busy"); // that was the last step
    }
}

function accept(answer, mine) {
    content = answer;
    if (mine.step === 0) {
        write();
    }
    show();
    setTimeout(() => mine.move === moves && !waiting && send(mine.step + 1), PAUSE);
    const about = spec.views[state.view];
    if (mine.step === 0 && about.work && !about.button && !results.has(place())) {
        setTimeout(() => mine.move === moves && state.view !== OWN && startWork(), 300);
    }
}

function ask() {
    if (state.view === OWN) {
        waiting = null;
        cancelWork();
        document.body.classList.remove("busy", "refused");
        write();
        redrawData();
        return;
    }
    if (job && job.place !== place()) {
        cancelWork();
    }
    if (waiting && waiting.step === 0) {
        waiting.late = true;
    } else {
        send(0);
    }
}

// ---- a server that is gone

function lost(error) {
    document.body.classList.add("lost");
    document.body.classList.remove("busy");
    get("sentence").textContent = error.message;
}

async function beat() {
    const gone = document.body.classList.contains("lost");
    try {
        await call("PUT", `/api/visitors/${visitor}`);
        if (gone) {
            document.body.classList.remove("lost");
            arrange();
            ask();
        }
    } catch (error) {
        lost(error);
    }
    setTimeout(beat, document.body.classList.contains("lost") ? 1000 : 5000);
}

// ---- work in the background

const place = () => JSON.stringify([state.view, current()]);

async function startWork() {
    const mine = { place: place(), key: "" };
    job = mine;
    working("waiting …", 0);
    try {
        const status = await call("POST", `/api/jobs/${state.view}`, { visitor: visitor, values: current() });
        mine.key = status.key;
        await watch(status, (now) => heard(now, mine), () => job === mine);
    } catch (error) {
        if (error instanceof LostError) {
            lost(error);
        } else {
            get("sentence").textContent = error.message;
        }
    }
    if (job === mine) {
        job = null;
        get("working").hidden = true;
    }
}

function heard(status, mine) {
    const { done, total, message, content: more } = status.progress ?? { done: 0, total: 1, message: "waiting …" };
    working(message || `${done} of ${total}`, done / total);
    if (more) {
        results.set(mine.place, more);
        if (results.size > 50) {
            results.delete(results.keys().next().value);
        }
    }
    if (mine.place === place()) {
        complaint = status.state === "failed" ? status.message : complaint; // until something moves
        show();
    }
}

function working(text, fraction) {
    get("working").hidden = false;
    get("progress").value = fraction;
    get("progress-text").textContent = text;
}

function cancelWork() {
    if (job?.key) {
        call("DELETE", `/api/jobs/${job.key}`).catch(() => {});
    }
    job = null;
    get("working").hidden = true;
}

// ---- showing

function whole() {
    const more = results.get(place());
    if (!more) {
        return content;
    }
    if (more.sentence) {
        return { ...more, python: content.python, command: content.command };
    }
    const [first, ...rest] = content.panels;
    const curves = [...first.curves, ...more.panels[0].curves];
    return { ...content, panels: [{ ...first, curves: curves }, ...rest] };
}

function show() {
    const shown = !content || state.view === OWN ? null : whole();
    if (!shown) {
        return;
    }
    get("sentence").textContent = complaint || shown.sentence;
    get("facts").replaceChildren(facts(shown.facts));
    get("python").textContent = shown.python;
    get("command").textContent = shown.command || "There is no command for this view.";
    get("pin").hidden = !pinned(shown).length;
    get("unpin").hidden = state.pin?.view !== state.view;
    const pins = state.pin?.view === state.view ? state.pin.curves : [];
    plot(get("figure"), shown.panels, { pinned: pins, dim: state.values.features });
}

function pinned(shown) {
    const curves = shown?.panels[0]?.map ? [] : shown?.panels[0]?.curves ?? [];
    return curves.filter((c) => ["line", "marked"].includes(c.look) && c.model).map((c) => ({ ...c, name: `${c.name}, pinned` }));
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
    const about = own ? { title: "Your data", controls: [] } : spec.views[state.view];
    document.title = `${about.title} · sparsetoken explorer`;
    if (own) {
        get("sentence").textContent = "Which tokens of your sequences matter, how well does that work, and would more data help?";
        return;
    }
    for (const element of document.querySelectorAll(".control")) {
        const name = element.dataset.name;
        const [by, value] = ONLY[name] ?? [];
        const fits = value === ANY ? Boolean(state.values[by]) : state.values[by] === value;
        const matters = !by || !about.controls.includes(by) || fits;
        element.hidden = !about.controls.includes(name) || !matters;
    }
    for (const group of document.querySelectorAll(".group")) {
        group.hidden = !group.querySelector(".control:not([hidden])");
    }
    for (const name of COUNTED) {
        const dim = state.values.features;
        const text = dim ? `n = ${Math.round(dim * state.values[name])}` : "";
        document.querySelector(`[data-count="${name}"]`).textContent = text;
    }
    get("work").hidden = !about.button;
    get("work").textContent = about.button;
    get("again").hidden = !about.controls.includes("random_state");
    get("working").hidden = !job;
}

// ---- buttons

function download(name, text) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv() {
    const columns = { ...whole().table };
    const length = Math.max(0, ...Object.values(columns).map((c) => c.length));
    for (const [name, value] of Object.entries(current())) {
        columns[name] ??= Array(length).fill(value);
    }
    const cell = (value) => (value === null || value === undefined ? "" : String(value));
    const lines = Array.from({ length: length }, (_, i) =>
        Object.values(columns).map((c) => cell(c[i])).join(","));
    return [Object.keys(columns).join(","), ...lines, ""].join("\n");
}

async function copy(button, text) {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
}

function listen() {
    get("work").addEventListener("click", startWork);
    get("cancel").addEventListener("click", cancelWork);
    get("again").addEventListener("click", () => {
        const next = (state.values.random_state + 1) % (spec.controls.random_state.high + 1);
        setters.random_state(next);
        set("random_state", next);
    });
    get("pin").addEventListener("click", () => {
        state.pin = { view: state.view, query: String(new URLSearchParams(current())), curves: pinned(content) };
        push = true;
        write();
        show();
    });
    get("unpin").addEventListener("click", () => {
        state.pin = null;
        push = true;
        write();
        show();
    });
    get("csv").addEventListener("click", () => download(`${state.view}.csv`, csv()));
    for (const format of ["svg", "png"]) {
        get(format).addEventListener("click", () => window.Plotly.downloadImage(get("figure"),
            { format: format, filename: `sparsetoken-${state.view}`, scale: format === "png" ? 2 : 1 }));
    }
    get("link").addEventListener("click", () => copy(get("link"), location.href));
    for (const button of document.querySelectorAll("[data-copy]")) {
        button.addEventListener("click", () => copy(button, get(button.dataset.copy).textContent));
    }
    get("explain").addEventListener("click", () => {
        const on = document.body.classList.toggle("explained");
        get("explain").setAttribute("aria-pressed", String(on));
    });
    get("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme !== "dark"));
    window.addEventListener("popstate", follow);
    window.matchMedia("(max-width: 760px)").addEventListener("change", () => { show(); redrawData(); });
    window.addEventListener("pagehide", () => {
        navigator.sendBeacon(`/api/visitors/${visitor}/leave`);
        leaveData();
    });
}

function paint(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    get("theme").textContent = dark ? "Light" : "Dark";
    localStorage.setItem("theme", dark ? "dark" : "light");
    show();
    redrawData();
}

function go(view) {
    if (view !== state.view) {
        if (view !== OWN) {
            for (const [name, value] of Object.entries(spec.views[view].defaults)) {
                if (state.values[name] === null) {
                    setAll({ [name]: value });
                }
            }
        }
        state.view = view;
        content = null;
        push = true;
        move();
    }
}

function reset(values = {}) {
    setAll({ ...defaults(state.view), ...values });
    push = true;
    move();
}

async function begin() {
    const kept = localStorage.getItem("theme");
    paint(kept ? kept === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
    spec = await call("GET", "/api/explorer");
    learn(spec.models);
    spec.controls.n_signal.limit = () => state.values.n_tokens;
    setters = build(get("groups"), spec, set);
    for (const [name, { title, question }] of [...Object.entries(spec.views), [OWN, { title: "Your data", question: "What is in your own sequences?" }]]) {
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
    const welcome = get("welcome");
    welcome.querySelector("span").textContent = spec.welcome;
    welcome.querySelector("button").addEventListener("click", () => { welcome.hidden = true; });
    welcome.hidden = location.search !== "";
    startData(spec, lost, () => go(OWN));
    listen();
    await follow();
    beat();
}

begin().catch((error) => { get("sentence").textContent = error.message; });
