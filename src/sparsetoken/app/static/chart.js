// Figures of the service, in the fonts and colors of the page.

const DECADES = 6; // of an axis, at the most

const narrow = () => window.matchMedia("(max-width: 760px)").matches;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// On black, colors are lighter; var(--…) is a color of the page.
function paint(value, dark) {
    if (/^var\(--\w+\)$/.test(value)) {
        return color(value.slice(4, -1));
    }
    if (!dark || !/^#[0-9a-f]{6}$/i.test(value)) {
        return value;
    }
    const channels = [1, 3, 5].map((i) => parseInt(value.slice(i, i + 2), 16));
    return "#" + channels.map((c) => Math.round(c + (255 - c) * 0.3).toString(16).padStart(2, "0")).join("");
}

const AXIS = () => ({
    automargin: true, tickangle: 0, gridcolor: color("--line"), linecolor: color("--ink"),
    showline: true, zeroline: false, ticks: "outside", fixedrange: true,
});

// The range of a logarithmic axis without one: errors of a strong signal fall by hundred decades.
function fit(axis, data) {
    const heights = data.flatMap((trace) => trace.y).filter((y) => y > 0).map(Math.log10);
    if (axis.type !== "log" || axis.range || !heights.length) {
        return axis;
    }
    const high = Math.max(...heights);
    const low = Math.max(Math.min(...heights), high - DECADES);
    const room = 0.05 * (high - low || 1);
    return { ...axis, range: [low - room, high + room], dtick: high - low < 3 ? "D2" : 1 };
}

function draw(element, figure, pinned) {
    const dark = document.documentElement.dataset.theme === "dark";
    const { data, layout } = JSON.parse(JSON.stringify({ ...figure, data: [...figure.data, ...pinned] }), (_, value) =>
        (typeof value === "string" ? paint(value, dark) : value));
    const [size, paper] = [narrow() ? 11 : 13, color("--paper")];
    return window.Plotly.react(element, data, {
        font: { color: color("--ink"), size: size, family: "system-ui, sans-serif" },
        paper_bgcolor: paper, plot_bgcolor: paper,
        margin: narrow() ? { l: 48, r: 10, t: 24, b: 40 } : { l: 60, r: 16, t: 30, b: 50 },
        legend: {
            orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow() ? 10 : size },
            ...(narrow() && data[0].type !== "heatmap" ? { entrywidth: 0.48, entrywidthmode: "fraction" } : {}),
        },
        showlegend: true, hovermode: "closest", dragmode: false, barmode: "overlay", ...layout,
        xaxis: { ...AXIS(), ...layout.xaxis }, yaxis: { ...AXIS(), ...fit(layout.yaxis, data) },
    }, { displayModeBar: false, responsive: true });
}

// Draw figures into as many elements; `pinned` has curves of other settings for the first one.
export function plot(parent, figures, pinned = []) {
    if (parent.children.length !== figures.length) { // their places change
        parent.replaceChildren(...figures.map(() => document.createElement("div")));
        parent.dataset.count = figures.length;
    }
    figures.forEach((figure, i) => draw(parent.children[i], figure, i ? [] : pinned));
}

// The curves of models in the first figure, as they are drawn beside others.
export function pins(figures) {
    return (figures?.[0]?.data ?? []).filter((trace) => trace.meta?.model).map((trace) => ({
        ...trace, name: `${trace.name}, pinned`, opacity: 0.6, line: { ...trace.line, dash: "dashdot", width: 1.8 },
    }));
}
