// Panels of the service as Plotly draws them, in the colors of the theme.

const ON_MAP = "#1b1f24"; // maps are light in both themes
let models = {};

export function learn(looks) {
    models = looks;
}

export function narrow() {
    return window.matchMedia("(max-width: 760px)").matches;
}

function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return { ink: read("--ink"), soft: read("--soft"), line: read("--line"), paper: read("--paper") };
}

const dark = () => document.documentElement.dataset.theme === "dark";

// A curve's own color or that of its model; black becomes the color of text, and on black all
// are lighter.
function color(curve, colors) {
    const plainly = curve.color ?? models[curve.model]?.color;
    if (!plainly) {
        return colors.soft;
    }
    if (plainly === "#000000") {
        return colors.ink;
    }
    return dark() ? mix(plainly, 0.3) : plainly;
}

function mix(hex, whiteness) {
    const channels = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return "#" + channels.map((c) => Math.round(c + (255 - c) * whiteness).toString(16).padStart(2, "0")).join("");
}

const finite = (numbers) => numbers.filter((v) => v !== null && Number.isFinite(v));

// ---- axes: every tick is a number that can be read

function plain(value) {
    const rounded = Number(value.toPrecision(3));
    return rounded >= 1e5 || rounded < 1e-4 ? rounded.toExponential().replace("e+", "e") : String(rounded);
}

function logTicks(low, high, most) {
    const ticks = [];
    const decades = Math.log10(high / low);
    const room = most / decades; // ticks for a decade
    const within = room > 5 ? [1, 2, 3, 5, 7] : room > 3 ? [1, 2, 5] : room > 2 ? [1, 3] : [1];
    const every = Math.ceil(1 / room);
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
        for (const factor of within) {
            const value = factor * 10 ** power;
            if (value >= low * 0.999 && value <= high * 1.001 && power % every === 0) {
                ticks.push(value);
            }
        }
    }
    return ticks;
}

function axisOf(axis, values, colors, options) {
    const base = {
        title: { text: axis.title.replace(/_(\w)/, "<sub>$1</sub>"), standoff: 12 },
        automargin: true,
        tickangle: 0,
        gridcolor: colors.line,
        linecolor: colors.ink,
        showline: true,
        zeroline: false,
        ticks: "outside",
        fixedrange: true,
        ...options.place,
    };
    let [low, high] = axis.ends || [Math.min(...values), Math.max(...values)];
    if (!axis.logarithmic) {
        const ticks = options.whole && high - low < 10 ? { dtick: 1 } : {};
        return axis.ends || options.mapped ? { ...base, ...ticks, range: [low, high] } : base;
    }
    if (!(low > 0) || !Number.isFinite(high)) {
        [low, high] = [0.1, 1];
    }
    if (!axis.ends && !options.mapped) {
        [low, high] = [low / 1.25, high * 1.25];
    }
    const counted = axis.samples && options.dim && options.across;
    const ticks = logTicks(low, high, counted ? 0.7 * options.room : options.room);
    return {
        ...base,
        ...(options.mapped ? {} : { type: "log" }),
        range: [Math.log10(low), Math.log10(high)],
        tickvals: options.mapped ? ticks.map(Math.log10) : ticks,
        ticktext: ticks.map((value) =>
            plain(value) + (counted ? `<br>n=${Math.round(value * options.dim)}` : "")),
    };
}

// ---- what is drawn

function traces(curve, number, colors, at, faint) {
    const shade = color(curve, colors);
    const where = { xaxis: `x${number}`, yaxis: `y${number}`, name: curve.name };
    const x = curve.x.map(at.x);
    const y = curve.y.map(at.y);
    const base = { ...where, x: x, y: y, type: "scatter", legendgroup: curve.name };
    if (curve.look === "bars") {
        return [{ ...base, type: "bar", width: 0.85, marker: { color: shade } }];
    }
    if (["points", "cross", "star"].includes(curve.look)) {
        const symbol = { points: "circle-open", cross: "x", star: "star" }[curve.look];
        const size = { points: 10, cross: 11, star: 16 }[curve.look];
        const bars = curve.error && { type: "data", array: curve.error, color: shade, thickness: 1.5 };
        return [{
            ...base, mode: "markers", error_y: bars || undefined, showlegend: curve.look !== "cross",
            marker: { color: shade, size: size, symbol: symbol, line: { width: 2, color: shade } },
        }];
    }
    const dash = faint ? "dashdot" : { dash: "dash", dot: "dot" }[curve.look] ?? "solid";
    const shape = { line: "spline", steps: "hv" }[curve.look] ?? "linear";
    const drawn = [{
        ...base, mode: curve.look === "marked" ? "lines+markers" : "lines", opacity: faint ? 0.6 : 1,
        line: { color: shade, dash: dash, width: dash === "solid" ? 2.5 : 1.8, shape: shape },
    }];
    if (curve.low && curve.high) {
        const edge = { ...base, mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
        drawn.unshift(
            { ...edge, y: curve.low.map(at.y) },
            { ...edge, y: curve.high.map(at.y), fill: "tonexty", fillcolor: shade + "2e" });
    }
    return drawn;
}

function mapTraces(map, number, colors, at, bar) {
    const base = { x: map.x.map(at.x), y: map.y.map(at.y), z: map.z, xaxis: `x${number}`, yaxis: `y${number}` };
    return [
        {
            ...base, type: "heatmap", zsmooth: "best", zmin: map.ends[0], zmax: map.ends[1],
            colorscale: [[0, models.pooled.color], [0.5, "#f4f4f2"], [1, models["two-step"].color]],
            text: map.text || undefined, hoverongaps: false,
            hovertemplate: map.text ? "%{text}<extra></extra>" : "%{z:.3f}<extra></extra>",
            colorbar: {
                title: { text: map.title, side: "right" }, thickness: 12, outlinewidth: 0,
                tickvals: Object.values(map.ticks), ticktext: Object.keys(map.ticks), ...bar,
            },
        },
        ...map.edges.map((edge) => ({
            ...base, type: "contour", showscale: false, hoverinfo: "skip", showlegend: false,
            contours: { start: edge, end: edge, size: 1, coloring: "none" },
            line: { color: ON_MAP, width: 2, smoothing: 1.3 },
        })),
    ];
}

function markOf(mark, number, colors, at) {
    const across = mark.x === null;
    const place = across ? at.y(mark.y) : at.x(mark.x);
    const shape = across
        ? { xref: `x${number} domain`, x0: 0, x1: 1, yref: `y${number}`, y0: mark.y, y1: mark.y }
        : { yref: `y${number} domain`, y0: 0, y1: 1, xref: `x${number}`, x0: mark.x, x1: mark.x };
    const label = across
        ? { xref: `x${number} domain`, x: 1, xanchor: "right", yref: `y${number}`, y: place, yanchor: "bottom" }
        : { yref: `y${number} domain`, y: 0, yanchor: "bottom", xref: `x${number}`, x: at.label(mark.x), xanchor: "left" };
    return {
        shape: { type: "line", line: { color: colors.soft, dash: "dot", width: 1.5 }, ...shape },
        label: { text: ` ${mark.text} `, showarrow: false, bgcolor: colors.paper + "b3", font: { color: colors.soft, size: 12 }, ...label },
    };
}

// Where panels stand: beside each other, or above each other on a narrow page.
function places(count) {
    if (count === 1) {
        return [{ x: [0, 1], y: [0, 1] }];
    }
    return narrow()
        ? [{ x: [0, 1], y: [0.6, 1] }, { x: [0, 1], y: [0, 0.4] }]
        : [{ x: [0, 0.44], y: [0, 1] }, { x: [0.57, 1], y: [0, 1] }];
}

// Draw panels into an element; `pinned` has curves of other settings for the first panel.
export function plot(element, panels, { pinned = [], dim = null } = {}) {
    const colors = theme();
    const layout = {
        font: { color: colors.ink, size: narrow() ? 11 : 13, family: "system-ui, sans-serif" },
        paper_bgcolor: colors.paper, plot_bgcolor: colors.paper,
        margin: narrow() ? { l: 48, r: 10, t: 24, b: 44 } : { l: 64, r: 16, t: 36, b: 56 },
        legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow() ? 11 : 13 } },
        showlegend: true, hovermode: "closest", dragmode: false, barmode: "overlay",
        shapes: [], annotations: [],
    };
    if (!panels.length) {
        Object.assign(layout, { xaxis: { visible: false }, yaxis: { visible: false } });
    }
    const data = [];
    const named = new Set();
    const spots = places(panels.length);
    panels.forEach((panel, index) => {
        const number = index ? String(index + 1) : "";
        const mapped = Boolean(panel.map);
        const log = (axis) => (v) => (v === null ? null : mapped && axis.logarithmic ? Math.log10(v) : v);
        const at = { x: log(panel.x), y: log(panel.y) };
        at.label = (v) => (panel.x.logarithmic ? Math.log10(v) : v); // Plotly wants it so of labels
        const curves = [...panel.curves, ...(index ? [] : pinned)];
        const extent = (axis) => finite(curves.flatMap((c) => [...c[axis], ...((axis === "y" && c.low) || []), ...((axis === "y" && c.high) || [])]));
        const shared = { dim: dim, mapped: mapped };
        layout[`xaxis${number}`] = axisOf(panel.x, mapped ? panel.map.x : extent("x"), colors,
            { ...shared, across: true, whole: curves.some((c) => c.look === "bars"), room: narrow() ? 5 : 12 / panels.length, place: { domain: spots[index].x, anchor: `y${number}` } });
        layout[`yaxis${number}`] = axisOf(panel.y, mapped ? panel.map.y : extent("y"), colors,
            { ...shared, room: narrow() ? 6 : 9, place: { domain: spots[index].y, anchor: `x${number}` } });
        if (mapped) {
            const [low, high] = spots[index].y;
            data.push(...mapTraces(panel.map, number, colors, at, { len: high - low, y: (low + high) / 2 }));
        }
        curves.forEach((curve, i) => {
            const on = mapped ? { ...colors, soft: curve.look === "cross" ? ON_MAP : colors.ink } : colors;
            for (const trace of traces(curve, number, on, at, i >= panel.curves.length)) {
                if (named.has(trace.name) && trace.showlegend !== false) {
                    trace.showlegend = false;
                }
                named.add(trace.showlegend === false ? "" : trace.name);
                data.push(trace);
            }
        });
        for (const mark of panel.marks) {
            const { shape, label } = markOf(mark, number, colors, at);
            layout.shapes.push(shape);
            layout.annotations.push(label);
        }
    });
    return window.Plotly.react(element, data, layout, { displayModeBar: false, responsive: true });
}
