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

// The value that a text stands for, or undefined if it stands for none.
export function parse(control, text) {
    if (!control.slider) {
        return Object.hasOwn(control.options, text) ? text : undefined;
    }
    const value = Number(text);
    const fits = text.trim() !== "" && value >= control.low && value <= control.high && (!control.whole || Number.isInteger(value));
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
            const [element, set] = (control.slider ? number : choice)(control, changed);
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
    const { name } = control;
    const choices = Object.entries(control.options).map(([value, text]) => make("option", { value }, text));
    const element = make("select", { id: `choice-${name}`, "aria-describedby": `help-${name}` }, ...choices);
    element.addEventListener("input", () => changed(name, element.value));
    const label = make("label", { htmlFor: element.id, className: "label" }, capital(control.label));
    return [make("div", { className: "control line" }, label, element), (value) => { element.value = value; }];
}

function number(fixed, changed) {
    // What it may be can depend on another control.
    const control = { ...fixed, get high() { return Math.min(fixed.high, fixed.limit?.() ?? fixed.high); } };
    const { name } = control;
    const [letter, index] = control.symbol.split("_");
    const symbol = make("span", { className: "symbol" }, letter, ...(index ? [make("sub", {}, index)] : []));
    const field = make("input", {
        type: "number", id: `number-${name}`, min: control.low, max: control.high,
        step: control.whole ? "1" : "any", "aria-describedby": `help-${name}`,
    });
    const slider = make("input", { type: "range", min: 0, max: PLACES, step: 1, "aria-label": capital(control.label) });
    const wrong = make("p", { className: "wrong", hidden: true });
    const mark = (is) => {
        wrong.hidden = !is;
        wrong.textContent = is ? `Give ${allowed(control)}.` : "";
        field.setAttribute("aria-invalid", String(is));
    };
    const put = (value, source) => {
        if (source !== field) { // small numbers as 1e-6: the field is narrow
            field.value = value && value < 1e-3 ? value.toExponential() : value;
        }
        if (source !== slider) {
            slider.value = toPlace(control, value);
        }
        slider.setAttribute("aria-valuetext", value);
        mark(false);
    };
    const take = (value, source) => {
        mark(value === undefined);
        if (value !== undefined) {
            put(value, source);
            changed(name, value);
        }
    };
    field.addEventListener("input", () => take(field.validity.badInput ? undefined : parse(control, field.value), field));
    slider.addEventListener("input", () => take(toValue(control, Number(slider.value)), slider));
    const label = make("label", { htmlFor: field.id, className: "label" }, capital(control.label), " ", symbol);
    return [make("div", { className: "control" }, make("div", { className: "line" }, label, field), slider, wrong), put];
}
