// The controls: sliders with their numbers, and choices. A wrong or empty field changes nothing.

const PLACES = 1000; // of a slider

export function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name in element && name !== "list") {
            element[name] = value;
        } else {
            element.setAttribute(name, value);
        }
    }
    element.append(...children);
    return element;
}

// A table of a few named values.
export function facts(pairs) {
    const rows = Object.entries(pairs).map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
    return rows.length ? make("table", {}, make("tbody", {}, ...rows)) : "";
}

function toPlace(control, value) {
    const { low, high, logarithmic } = control;
    const fraction = logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);
    return Math.round(PLACES * Math.min(Math.max(fraction, 0), 1));
}

function toValue(control, place) {
    const { low, high, logarithmic, whole } = control;
    const fraction = place / PLACES;
    const value = logarithmic ? low * (high / low) ** fraction : low + (high - low) * fraction;
    return whole ? Math.round(value) : Number(value.toPrecision(3));
}

const isText = (control) => !control.slider && !Object.keys(control.options).length;

// The value that a text stands for, or undefined if it stands for none.
export function parse(control, text) {
    if (isText(control)) {
        return text;
    }
    if (Object.keys(control.options).length) {
        return Object.hasOwn(control.options, text) ? text : undefined;
    }
    if (text.trim() === "") {
        return control.default === null ? null : undefined;
    }
    const value = Number(text);
    const fits = value >= control.low && value <= control.high && (!control.whole || Number.isInteger(value));
    return fits ? value : undefined;
}

export function allowed(control) {
    const options = Object.keys(control.options);
    return options.length
        ? `one of ${options.join(", ")}`
        : `${control.whole ? "a whole number" : "a number"} from ${control.low} to ${control.high}`;
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// Build all controls; `changed(name, value)` hears of valid values only.
export function build(parent, spec, changed) {
    const setters = {};
    for (const [heading, names] of Object.entries(spec.groups)) {
        const group = make("details", { className: "group", open: true }, make("summary", {}, heading));
        for (const name of names) {
            const control = spec.controls[name];
            const choices = Object.keys(control.options).length;
            const kind = choices ? choice : isText(control) ? lines : number;
            const [element, set] = kind(control, changed);
            element.append(make("p", { className: "help", id: `help-${name}` }, control.help));
            element.dataset.name = name;
            element.title = control.help;
            group.append(element);
            setters[name] = set;
        }
        parent.append(group);
    }
    return setters;
}

function choice(control, changed) {
    const { name, options } = control;
    const select = make("select", { id: `choice-${name}`, "aria-describedby": `help-${name}` },
        ...Object.entries(options).map(([value, text]) => make("option", { value: value }, text)));
    select.addEventListener("change", () => changed(name, select.value));
    const label = make("label", { htmlFor: select.id, className: "label" }, capital(control.label));
    return [make("div", { className: "control line" }, label, select), (value) => { select.value = value; }];
}

function lines(control, changed) {
    const field = make("textarea", {
        id: `lines-${control.name}`, rows: 6, spellcheck: false, maxLength: 4000,
        placeholder: "size,error\n50,0.31\n100,0.24\n200,0.17", "aria-describedby": `help-${control.name}`,
    });
    field.addEventListener("input", () => changed(control.name, field.value));
    const label = make("label", { htmlFor: field.id, className: "label" }, capital(control.label));
    return [make("div", { className: "control" }, label, field), (value) => { field.value = value; }];
}

function number(fixed, changed) {
    // What it may be can depend on another control.
    const control = { ...fixed, get high() { return Math.min(fixed.high, fixed.limit?.() ?? fixed.high); } };
    const { name } = control;
    const [letter, index] = control.symbol.split("_");
    const symbol = make("span", { className: "symbol" }, letter, ...(index ? [make("sub", {}, index)] : []));
    const count = make("span", { className: "count", "data-count": name });
    const field = make("input", {
        type: "number", id: `number-${name}`, min: control.low, max: control.high,
        step: control.whole ? "1" : "any", placeholder: control.default === null ? "none" : "",
        "aria-describedby": `help-${name}`,
    });
    const slider = make("input", {
        type: "range", min: 0, max: PLACES, step: 1, "aria-label": capital(control.label),
    });
    const wrong = make("p", { className: "wrong", hidden: true });
    const mark = (is) => {
        wrong.hidden = !is;
        wrong.textContent = is ? `Give ${allowed(control)}.` : "";
        field.setAttribute("aria-invalid", String(is));
    };
    const write = (value) => { // small numbers as 1e-6: the field is narrow
        field.value = value && value < 1e-3 ? value.toExponential() : value ?? "";
    };
    const speak = (value) => slider.setAttribute("aria-valuetext", value === null ? "not given" : String(value));
    field.addEventListener("input", () => {
        const value = field.validity.badInput ? undefined : parse(control, field.value);
        mark(value === undefined);
        if (value !== undefined) {
            slider.value = toPlace(control, value ?? control.low);
            speak(value);
            changed(name, value);
        }
    });
    slider.addEventListener("input", () => {
        const value = toValue(control, Number(slider.value));
        write(value);
        mark(false);
        speak(value);
        changed(name, value);
    });
    const label = make("label", { htmlFor: field.id },
        make("span", { className: "label" }, capital(control.label), " ", symbol), count);
    const line = make("div", { className: "line" }, label, field);
    return [make("div", { className: "control" }, line, slider, wrong), (value) => {
        write(value);
        slider.value = toPlace(control, value ?? control.low);
        speak(value);
        mark(false);
    }];
}
