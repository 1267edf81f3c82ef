"""The report as one page: no script, no network, light and dark."""

from html import escape
from pathlib import Path

import numpy as np

from sparsetoken.reporting.charts import Chart, Scale, bars, from_zero, strip
from sparsetoken.reporting.evidence import Evidence, Shown
from sparsetoken.vocabulary import COLORS, SPEAKS

_UNIT = (0.0, 1.0, (0, 0.25, 0.5, 0.75, 1))
_MEANING = {
    "attention": "a few tokens decide",
    "posterior": "a few tokens decide, as in the sparse-token model",
    "pooled": "all tokens together decide",
    "statistics": "the spread and extremes of all tokens decide",
    "position": "each position has a readout of its own",
}
_CLASS_COLORS = (*COLORS[:-1], "var(--ink)")  # black would vanish in the dark
_MAIN, _OTHER = SPEAKS["for"].lower(), SPEAKS["against"].lower()
_STYLE = (
    f":root{{--main:{_MAIN};--other:{_OTHER};--band:{_MAIN}33}}\n"
    + Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    + "".join(f".c{k}{{stroke:{color}}}" for k, color in enumerate(_CLASS_COLORS))
)


def render(evidence: Evidence, title: str, token_texts: dict[str, list[str]] | None = None) -> str:
    """Return the page as text."""
    sections = [
        _head(evidence, title),
        _judged(evidence),
        _kind(evidence),
        _sequences(evidence, token_texts or {}),
        _more_samples(evidence),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>"
    )


def _head(evidence: Evidence, title: str) -> str:
    counts = ", ".join(f"{n} of class {escape(name)}" for name, n in evidence.classes.items())
    low, middle, high = evidence.n_tokens
    lengths = f"{low} tokens each" if low == high else f"{low} to {high} tokens, median {middle}"
    better = evidence.measures[0].low > evidence.majority
    boxes = "".join(
        f'<div class="card"><span class="soft">{escape(m.name)}</span><b>{m.value:.3f}</b>'
        f'<span class="soft">95 % interval {m.low:.3f} to {m.high:.3f}</span></div>'
        for m in evidence.measures
    )
    return (
        f"<h1>{escape(title)}</h1><p>{evidence.classifier} on {sum(evidence.classes.values())} "
        f"sequences ({counts}), {lengths}, {evidence.dim} features per token.</p>"
        f'<p class="soft">{escape(evidence.how)}</p><div class="row">{boxes}</div>'
        f"<p>The accuracy is {'better' if better else 'not clearly better'} than chance: always "
        f"predicting the commonest class is right in {evidence.majority:.1%} of cases. "
        f"{escape(evidence.no_recall)}</p>"
    )


def _judged(evidence: Evidence) -> str:
    roc = Chart("ROC curve", Scale("false-positive rate", *_UNIT), Scale("recall", *_UNIT))
    roc.line([(0, 0), (1, 1)], "other")
    several, legend = len(evidence.classes) > 2, []
    for k, (name, rates) in enumerate(evidence.roc.items()):
        place = k % len(_CLASS_COLORS)
        roc.line(np.transpose(rates), f"c{place}" if several else "main")
        style = f"background:{_CLASS_COLORS[place]}"
        legend.append(f'<i class="key" style="{style}"></i>{escape(name)}')
    keys = f"<br>{' &ensp; '.join(legend)}" if several else ""
    scales = Scale("predicted probability", *_UNIT), Scale("fraction right", *_UNIT)
    calibration = Chart("Calibration", *scales)
    calibration.line([(0, 0), (1, 1)], "other")
    for x, rate in evidence.calibration:
        calibration.point(x, rate.value, rate.low, rate.high, f"{x:.2f}: {rate}")
    charts = {
        f"ROC of sequences that training did not see; dashed: chance{keys}": roc,
        "How often the predicted class is right; dashed: as often as claimed": calibration,
    }
    if len(evidence.by_length) > 1:
        longest = max(x for x, _ in evidence.by_length)
        top = max(0.1, *(rate.high for _, rate in evidence.by_length))
        lengths = Chart("Error by length", from_zero("tokens", longest), from_zero("error", top))
        for x, rate in evidence.by_length:
            lengths.point(x, rate.value, rate.low, rate.high, f"{x:.0f} tokens: {rate}")
        charts["Error by length of the sequence, 95 % intervals"] = lengths
    figures = "".join(map(_figure, (chart.svg() for chart in charts.values()), charts))
    return (
        f'<h2>How good is it?</h2><div class="charts">{figures}'
        f"{_figure(*_confusion(evidence))}</div>"
    )


def _figure(content: str, caption: str) -> str:
    return f"<figure>{content}<figcaption>{caption}</figcaption></figure>"


def _confusion(evidence: Evidence) -> tuple[str, str]:
    names = [escape(name) for name in evidence.classes]
    head = "".join(f"<th>said {name}</th>" for name in names)
    rows = "".join(
        f"<tr><th>is {name}</th>{''.join(f'<td>{n}</td>' for n in line)}</tr>"
        for name, line in zip(names, evidence.confusion.tolist(), strict=True)
    )
    table = f"<table><tr><td></td>{head}</tr>{rows}</table>"
    return table, "Sequences by their class and by the one with the highest probability"


def _kind(evidence: Evidence) -> str:
    text = "<h2>What kind of signal is it?</h2>"
    if evidence.members:
        leading = max(evidence.members, key=lambda name: evidence.members[name])
        if leading in _MEANING:
            text += f"<p>Mostly <b>{escape(leading)}</b>: {_MEANING[leading]}.</p>"
        text += bars(evidence.members)
    items = "".join(f"<li>{escape(line)}</li>" for line in evidence.findings)
    return text + (f"<ul>{items}</ul>" if items else "")


def _sequences(evidence: Evidence, texts: dict[str, list[str]]) -> str:
    model = "the model itself, which was trained on them" if evidence.n_refits else "the model"
    note = (
        f"One box a token, counted from 0: its height is the attention it gets from {model}. Blue "
        "speaks for the predicted class, orange against it."
    )
    right, wrong = (
        "".join(_sequence(one, texts.get(one.name)) for one in shown) or "<p>None.</p>"
        for shown in (evidence.right, evidence.wrong)
    )
    return (
        f'<h2>Sequences to look at</h2><p class="soft">{note}</p>'
        f"<h3>Most surely right</h3>{right}<h3>Most surely wrong</h3>{wrong}"
    )


def _sequence(one: Shown, texts: list[str] | None) -> str:
    _, weights, contributions, *_ = one.explanation
    verdict, heaviest = f"is {escape(one.label)}", int(np.argmax(weights))
    said = str(one.explanation.speaks_for)
    if one.label != said:
        verdict += f', <span class="wrong">said {escape(said)}</span>'
    tokens = strip(weights.tolist(), contributions.tolist(), texts)
    text = "" if texts is None else f" {escape(texts[heaviest])}"
    return (
        f'<div class="sequence"><b>{escape(one.name)}</b> {verdict}, with probability '
        f'{one.probability:.2f}{tokens}<p class="soft">heaviest token: {heaviest}{text}</p></div>'
    )


def _more_samples(evidence: Evidence) -> str:
    if evidence.plan is None:
        return ""
    n = evidence.plan.pilot_size
    sizes = [max(n // 4, 4), max(n // 2, 4), n, 2 * n, 4 * n]
    lower, median, upper = np.transpose(evidence.plan.predict(sizes))
    chart = Chart(
        "Learning curve",
        Scale("sequences", sizes[0], sizes[-1], sizes, logarithmic=True),
        from_zero("error", max(float(upper.max()), 0.05)),
    )
    chart.band(sizes, lower, upper)
    chart.line(zip(sizes, median, strict=True), "main")
    chart.line([(n, 0.0), (n, chart.y.high)], "other")
    figure = _figure(chart.svg(), "Expected error with its 80 % range; dashed: now")
    pilot = f"These {n} sequences serve as a pilot: what fits to parts of them reach is continued."
    words = pilot, escape(evidence.plan.answer), escape(evidence.plan.trust)
    return (
        f'<h2>Would more samples help?</h2><div class="row">{figure}'
        f"<p style='flex:1 1 18rem'>{'<br>'.join(words)}</p></div>"
    )
