// What happens in the browser alone: sliders, the link, and when to ask the server for what.
//
// At most one coarse picture is under way: while it is, moves are only noted, and the last one is
// asked for when it arrives. Then the picture is refined step by step until something moves.
"use strict";

(function () {
    const none = () => window.dash_clientside.no_update;
    const client = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16)).join("");
    const patience = 15000; // after which a lost answer is not waited for any longer
    const calm = 150; // before the link is written
    const pause = 60; // before refining, in which another move may come
    let known = null; // the specification of parameters and views
    let complaint = "";
    let complained = 0; // the move that it belongs to; it goes with the next one
    let sequence = 0;
    let wanted = null; // what the picture should show
    let waiting = null; // the request under way
    let refining = null; // timer
    let moves = 0;
    let writing = null; // timer of the link, which a browser takes its time to change
    let started = null; // values for which automatic work was begun

    function specification() {
        known = known || JSON.parse(document.getElementById("specification").dataset.json);
        return known;
    }

    function set(id, props) {
        window.dash_clientside.set_props(id, props);
    }

    // ---- numbers and sliders

    function toPlace(name, value) {
        const [low, high, logarithmic] = specification().numbers[name];
        const share = logarithmic
            ? Math.log(value / low) / Math.log(high / low)
            : (value - low) / (high - low);
        return Math.round(specification().slider * Math.min(Math.max(share, 0), 1));
    }

    function toValue(name, place) {
        const [low, high, logarithmic, whole] = specification().numbers[name];
        const share = place / specification().slider;
        const value = logarithmic ? low * (high / low) ** share : low + (high - low) * share;
        if (whole) {
            return Math.round(value);
        }
        return Number(value.toPrecision(3));
    }

    function narrow() {
        return window.matchMedia("(max-width: 760px)").matches;
    }

    // ---- asking for pictures

    // The page posts the request for a picture itself: Dash would get round to it only after the
    // controls, when the picture could be half computed.
    const parts = ["figure.figure", "sentence.children", "facts.children"].concat(
        ["python.children", "command.children", "answer.data"]);

    async function post(request) {
        const outputs = parts.map((part) => ({ id: part.split(".")[0], property: part.split(".")[1] }));
        const reply = await fetch("_dash-update-component", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({
                output: ".." + parts.join("...") + "..",
                outputs: outputs,
                inputs: [{ id: "request", property: "data", value: request }],
                changedPropIds: ["request.data"],
            }),
        });
        if (reply.status === 204) {
            return; // a later request has overtaken it
        }
        if (!reply.ok) {
            throw new Error(await reply.text());
        }
        const shown = (await reply.json()).response;
        if (waiting && waiting.sequence === request.sequence) {
            for (const id of Object.keys(shown).filter((id) => id !== "answer")) {
                set(id, shown[id]);
            }
            answered(shown.answer.data);
        }
    }

    function send(step) {
        sequence += 1;
        waiting = { sequence: sequence, step: step, since: performance.now() };
        document.body.classList.add("busy");
        post(Object.assign({ client: client, sequence: sequence, step: step }, wanted)).catch(() => {
            waiting = null;
            set("sentence", { children: "The server gave no answer; is it still running?" });
        });
    }

    function ask() {
        clearTimeout(refining);
        const coarse = waiting && waiting.step === 0;
        if (coarse && performance.now() - waiting.since < patience) {
            waiting.late = true; // to be asked for when the answer is there
        } else {
            send(0);
        }
    }

    function later(step) {
        const now = moves;
        refining = setTimeout(() => {
            if (now === moves) {
                send(step);
            }
        }, pause);
    }

    function answered(answer) {
        const late = waiting.late;
        waiting = null;
        complained = complained || moves;
        if (complaint && complained === moves) {
            set("sentence", { children: complaint });
        }
        if (late) {
            send(0);
            return;
        }
        document.body.classList.toggle("busy", Boolean(answer.more));
        document.body.classList.toggle("refused", Boolean(answer.refused));
        if (answer.more) {
            later(answer.step + 1);
        }
        const asked = JSON.stringify([wanted.view, wanted.values]);
        if (specification().views[wanted.view].automatic && started !== asked && !answer.refused) {
            const now = moves;
            setTimeout(() => {
                if (now === moves) {
                    started = asked;
                    set("job-request", { data: begin() });
                }
            }, 300);
        }
    }

    // A slider asks by itself: waiting for Dash to tell its number first would take twice as long.
    // Until Dash has caught up, the place of the slider is what counts.
    const ahead = {};

    document.addEventListener("input", (event) => {
        const control = event.target.type === "range" && event.target.closest(".control");
        const name = control && control.dataset.name;
        if (!name || !wanted || !(name in wanted.values)) {
            return;
        }
        ahead[name] = toValue(name, Number(event.target.value));
        want({ values: { ...wanted.values, [name]: ahead[name] } });
    });

    function want(change) {
        const next = { ...wanted, ...change };
        if (JSON.stringify(next) === JSON.stringify(wanted)) {
            return;
        }
        const turned = !wanted || next.view !== wanted.view;
        wanted = next;
        moves += 1;
        if (turned) {
            showView(wanted.view);
        }
        showShare(wanted.values);
        clearTimeout(writing);
        writing = setTimeout(writeLink, turned ? 0 : calm);
        ask();
    }

    // ---- the page

    function showView(view) {
        for (const tab of document.querySelectorAll(".view-tab")) {
            const chosen = tab.dataset.view === view;
            tab.classList.toggle("chosen", chosen);
            tab.setAttribute("aria-current", chosen ? "page" : "false");
            if (chosen && narrow()) {
                tab.scrollIntoView({ block: "nearest", inline: "center" });
            }
        }
        for (const control of document.querySelectorAll(".control")) {
            control.hidden = !control.dataset.views.split(" ").includes(view);
        }
        for (const group of document.querySelectorAll(".group")) {
            group.hidden = !group.querySelector(".control:not([hidden])");
        }
        const about = specification().views[view];
        const work = document.getElementById("work");
        work.hidden = !about.button;
        work.textContent = about.button;
        document.getElementById("again").hidden = view !== "attention-map";
        document.title = about.title + " · sparsetoken explorer";
        document.body.dataset.view = view;
    }

    function showShare(values) {
        // Of the two ways to say how many samples the query gets, show the one that is chosen.
        const split = document.querySelector('[data-name="split"]');
        const fixed = document.querySelector('[data-name="alpha0"]');
        if (wanted.view === "learning") {
            split.hidden = values.query_by !== "split";
            fixed.hidden = values.query_by !== "alpha0";
        }
    }

    function writeLink() {
        const query = new URLSearchParams({ view: wanted.view });
        for (const name of specification().views[wanted.view].names) {
            query.set(name, wanted.values[name]);
        }
        history.replaceState(null, "", "?" + query);
        document.getElementById("table").href = "table.csv?" + query;
    }

    function label() {
        for (const control of document.querySelectorAll(".control")) {
            const slider = control.querySelector("input[type=range]");
            if (slider) {
                slider.setAttribute("aria-label", control.getAttribute("aria-label"));
            }
        }
    }

    function begin() {
        return Object.assign({ client: client, sequence: sequence, step: 0 }, wanted);
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside, {
        explorer: {
            slide(number, place, id) {
                const moved = window.dash_clientside.callback_context.triggered_id;
                const part = window.dash_clientside.callback_context.triggered[0];
                const name = id.name;
                if (moved && part && part.prop_id.includes('"slider"')) {
                    const value = toValue(name, Number(place));
                    return [value === number ? none() : value, none()];
                }
                if (!Number.isFinite(number)) {
                    return [none(), none()];
                }
                const there = toPlace(name, number);
                return [none(), there === Number(place) && place !== undefined ? none() : there];
            },

            follow(link, numberIds, numbers, choiceIds, choices) {
                complaint = link.complaint;
                complained = 0;
                const pick = (ids, old) =>
                    ids.map((id, i) => (id.name in link.values ? link.values[id.name] : old[i]));
                label();
                return [pick(numberIds, numbers), pick(choiceIds, choices), link.view];
            },

            changed(numbers, choices, view, theme, numberIds, choiceIds) {
                if (!view || !theme) {
                    return;
                }
                const all = {};
                numberIds.forEach((id, i) => {
                    const value = numbers[i] === undefined ? null : numbers[i];
                    if (ahead[id.name] === value) {
                        delete ahead[id.name];
                    }
                    all[id.name] = id.name in ahead ? ahead[id.name] : value;
                });
                choiceIds.forEach((id, i) => (all[id.name] = choices[i]));
                const values = {};
                for (const name of specification().views[view].names) {
                    values[name] = all[name];
                }
                want({ view: view, values: values, dark: theme === "dark", narrow: narrow() });
            },

            choose_view() {
                const moved = window.dash_clientside.callback_context.triggered_id;
                return moved ? moved.name : none();
            },

            switch_theme(clicks) {
                const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
                let theme = localStorage.getItem("theme") || (dark ? "dark" : "light");
                if (clicks) {
                    theme = theme === "dark" ? "light" : "dark";
                    localStorage.setItem("theme", theme);
                }
                document.documentElement.dataset.theme = theme;
                document.getElementById("theme-switch").textContent = theme === "dark" ? "Light" : "Dark";
                return theme;
            },

            redraw(clicks, ids, numbers) {
                return ids.map((id, i) => (id.name === "seed" ? (numbers[i] + 1) % 10000 : none()));
            },

            start_work(clicks) {
                return clicks ? begin() : none();
            },

            cancel_work(clicks, job) {
                return clicks && job && job.key ? { cancel: job.key } : none();
            },

            show_work(job, heard) {
                const now = heard && job && heard.key === job.key ? heard : job || {};
                const running = now.state === "waiting" || now.state === "running";
                const share = now.total ? now.done / now.total : 0;
                let text = "";
                if (running) {
                    text = now.state === "waiting" ? "waiting" : now.done + " of " + now.total;
                } else if (now.state === "failed") {
                    text = now.message;
                }
                if (now.done && now.done !== show.done) {
                    moves += 1;
                    ask();
                }
                show.done = now.done;
                document.getElementById("cancel").hidden = !running;
                return [!running, !running && !text, String(share), text];
            },

            save_figure(clicks, format) {
                if (clicks) {
                    const graph = document.querySelector("#figure .js-plotly-plot");
                    window.Plotly.downloadImage(graph, {
                        format: format,
                        filename: "sparsetoken-" + document.body.dataset.view,
                        width: 1000,
                        height: 600,
                        scale: format === "png" ? 2 : 1,
                    });
                }
                return none();
            },

            explain() {
                const shown = document.body.classList.toggle("explained");
                return shown ? "Hide explanations" : "Explain the controls";
            },

            copy_link(clicks) {
                if (!clicks) {
                    return none();
                }
                navigator.clipboard.writeText(location.href);
                return "Copied";
            },
        },
    });

    const show = { done: 0 };
})();
