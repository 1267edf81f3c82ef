// One's own data: a file goes to the service on this machine, and what it finds out comes back.

import { call, visitor, watch, LostError } from "./api.js";
import { plot } from "./chart.js";
import { facts, make } from "./controls.js";

const get = (id) => document.getElementById(id);
let study = null; // what is known
let selected = 0; // the sequence that is looked at
let job = null;
let gone = () => {};

// A file may be dropped on any view; `open` leads to this one.
export function startData({ most_bytes: most, fields }, lost, open) {
    gone = lost;
    for (const [name, title] of Object.entries(fields)) {
        get("columns").append(make("label", {}, `${title} `, make("input", { name: name, maxLength: 200 })));
    }
    get("limits").textContent = `Sequences with labels as for “sparsetoken fit”: .csv, .npz and more, up to ${most / 1e6} MB. The file stays on this machine and is deleted when it has been studied, or when you leave the page.`;
    get("file").addEventListener("change", () => {
        send(get("file").files[0], most);
        get("file").value = ""; // the same file may come again
    });
    const over = (is) => document.body.classList.toggle("over", is);
    document.addEventListener("dragover", (event) => {
        event.preventDefault();
        over(true);
    });
    document.addEventListener("dragleave", () => over(false));
    document.addEventListener("drop", (event) => {
        event.preventDefault();
        over(false);
        open();
        send(event.dataTransfer.files[0], most);
    });
}

async function send(file, most) {
    if (!file) {
        return;
    }
    if (file.size > most) {
        say(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the page takes ${most / 1e6} MB. Use “sparsetoken fit” on the command line.`);
        return;
    }
    const mine = {};
    job = mine;
    study = null;
    selected = 0;
    get("study").replaceChildren();
    say(`Sending ${file.name} …`);
    const query = new URLSearchParams({ visitor: visitor, name: file.name, error: get("target").value || 0.1 });
    for (const field of get("columns").querySelectorAll("input")) {
        if (field.value) {
            query.set(field.name, field.value);
        }
    }
    try {
        const status = await call("PUT", `/api/data?${query}`, file);
        await watch(status, (now) => heard(now, file.name), () => job === mine);
    } catch (error) {
        say(error.message);
        if (error instanceof LostError) {
            gone(error);
        }
    }
}

export function leaveData() {
    job = null;
    study = null;
    get("study").replaceChildren();
}

function say(words) {
    get("sentence").textContent = words;
}

function heard(status, name) {
    const progress = status.progress ?? { done: 0, total: 1, message: "waiting", content: null };
    document.body.classList.toggle("busy", status.state === "running");
    if (status.state === "failed") {
        say(status.message);
    } else if (status.state === "running") {
        say(`${name}: ${progress.message} (${progress.done} of ${progress.total}) …`);
    }
    if (progress.content && JSON.stringify(progress.content) !== JSON.stringify(study)) {
        study = progress.content;
        redrawData();
    }
    if (status.state === "done") {
        say(study.sentence);
    }
}

function section(title, ...children) {
    return make("section", {}, make("h2", {}, title), ...children);
}

function picture(panels, label) {
    const element = make("div", { className: "small-figure", role: "img", "aria-label": label });
    setTimeout(() => element.isConnected && plot(element, panels));
    return element;
}

function sequences() {
    const lines = study.sequences.map((one, index) => {
        const button = make("button", { type: "button", "aria-pressed": String(index === selected) }, one.name);
        button.addEventListener("click", () => {
            selected = index;
            redrawData();
            get("sequences").querySelectorAll("button")[index].focus();
        });
        return make("tr", {}, make("th", { scope: "row" }, button), make("td", {}, one.label),
            make("td", {}, one.predicted), make("td", {}, one.probability.toFixed(3)));
    });
    const head = make("thead", {}, make("tr", {}, ...["sequence", "label", "predicted", "probability"].map((t) =>
        make("th", { scope: "col" }, t))));
    const list = make("div", { id: "sequences", tabIndex: 0, role: "region", "aria-label": "Sequences" },
        make("table", {}, head, make("tbody", {}, ...lines)));
    const one = study.sequences[selected];
    return section("Sequences that were held out", make("div", { className: "beside" },
        list, picture([one.panel], `Weights of the tokens of ${one.name}`)));
}

export function redrawData() {
    if (!study || get("data").hidden) {
        return;
    }
    const sections = [section("What was read", facts(study.read))];
    if (study.roc) {
        sections.push(section("How well it works", make("div", { className: "beside" },
            facts(study.held_out), picture([study.roc], "Receiver operating characteristic on held-out sequences"))));
    }
    if (Object.keys(study.members).length) {
        sections.push(section("What the classifier is made of", facts(study.members)));
    }
    if (study.sequences.length) {
        sections.push(sequences());
    }
    if (study.diagnosis) {
        sections.push(section("Diagnosis", make("pre", { tabIndex: 0 }, study.diagnosis)));
    }
    if (study.plan) {
        sections.push(section("Would more data help?", make("p", {}, study.plan.sentence),
            picture(study.plan.panels, study.plan.sentence)));
    }
    const at = get("sequences")?.scrollTop ?? 0;
    get("study").replaceChildren(...sections);
    if (get("sequences")) {
        get("sequences").scrollTop = at;
    }
}
