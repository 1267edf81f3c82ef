// One's own data: a file goes to the service on this machine, and a report comes back.

import { stream, LostError } from "./api.js";
import { make } from "./controls.js";

const get = (id) => document.getElementById(id);
let file = null; // the last one sent
let page = ""; // the report on it
let sending = null;

// A file may be dropped on any view; `open` leads to this one.
export function startData({ most_bytes: most, fields }, open) {
    for (const [name, title] of Object.entries(fields)) {
        const field = make("input", { name: name, maxLength: 200, ...(name === "layer" ? {} : { list: "names" }) });
        field.addEventListener("change", () => file && send(most));
        get("columns").append(make("label", {}, `${title} (${name}=) `, field));
    }
    get("target").addEventListener("change", () => file && send(most));
    get("limits").textContent = `Sequences with labels as for “sparsetoken fit”: .csv, .npz and more, up to ${most / 1e6} MB. The file stays on this machine and is deleted when the report is made, or when you leave the page.`;
    const take = (next) => {
        if (next && next.name !== file?.name) { // names of its columns are its own
            get("columns").querySelectorAll("input").forEach((field) => { field.value = ""; });
        }
        file = next ?? file;
        get("names").replaceChildren();
        send(most);
    };
    get("file").addEventListener("change", () => {
        take(get("file").files[0]);
        get("file").value = ""; // the same file may come again
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
        event.preventDefault();
        open();
        take(event.dataTransfer.files[0]);
    });
    get("save").addEventListener("click", () => save("text/html", page, `${file.name}.html`));
    // A report is as high as it needs.
    get("report").addEventListener("load", () => {
        get("report").style.height = `${get("report").contentDocument.documentElement.scrollHeight + 20}px`;
    });
}

export function save(type, text, name) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function send(most) {
    sending?.abort();
    if (!file) {
        return;
    }
    show("");
    if (file.size > most) {
        say(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the page takes ${most / 1e6} MB. Use “sparsetoken fit” on the command line.`);
        return;
    }
    const mine = sending = new AbortController();
    document.body.classList.add("busy");
    say(`Sending ${file.name} …`);
    const query = new URLSearchParams({ name: file.name, error: get("target").value || 0.1 });
    for (const field of get("columns").querySelectorAll("input")) {
        if (field.value) {
            query.set(field.name, field.value);
        }
    }
    try {
        await stream("PUT", `/api/data?${query}`, file, mine.signal, heard);
    } catch (error) {
        if (error.name === "AbortError") {
            return;
        }
        say(error.message);
        get("studying").textContent = "";
        get("roles").open ||= !(error instanceof LostError); // where a wrong column can be mended
    }
    document.body.classList.remove("busy");
}

function heard({ columns, progress, sentence, page: report }) {
    if (columns) {
        get("names").replaceChildren(...columns.map((name) => make("option", { value: name })));
        get("known").textContent = columns.length ? `The file has the columns ${columns.slice(0, 30).join(", ")}${columns.length > 30 ? " …" : ""}.` : "";
    }
    if (report) {
        show(report);
    }
    if (sentence) {
        say(sentence);
    }
    if (progress !== undefined) {
        get("studying").textContent = progress && `${file.name}: ${progress} …`;
        if (!page) {
            say(get("studying").textContent);
        }
    }
}

// Show a report, in the colors of the page instead of those of the system.
export function show(report = page) {
    page = report;
    get("report").hidden = get("save").hidden = !page;
    const dark = document.documentElement.dataset.theme === "dark";
    get("report").srcdoc = page.replace("(prefers-color-scheme: dark)", dark ? "all" : "not all");
    get("studying").textContent = "";
}

function say(words) {
    get("sentence").textContent = words;
}
