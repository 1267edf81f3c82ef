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
}
_CLASS_COLORS = dict(enumerate((*COLORS[:-1], "var(--ink)")))  # black would vanish in the dark
_MAIN, _OTHER = SPEAKS["for"].lower(), SPEAKS["against"].lower()
_STYLE = (
    f":root{{--main:{_MAIN};--other:{_OTHER};--band:{_MAIN}33}}\n"
    + Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    + "".join(f".c{k}{{stroke:{color}}}" for k, color in _CLASS_COLORS.items())
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
    cards = [
        (escape(m.name), f"{m.value:.3f}", f"95 % interval {m.low:.3f} to {m.high:.3f}")
        for m in evidence.measures
    ]
    accuracy = evidence.measures[0]
    better = "better than" if accuracy.low > evidence.majority else "not clearly better than"
    trivial = f"always predicting the commonest class is right in {evidence.majority:.1%} of cases"
    boxes = "".join(
        f'<div class="card"><span class="soft">{name}</span><b>{value}</b>'
        f'<span class="soft">{note}</span></div>'
        for name, value, note in cards
    )
    return (
        f"<h1>{escape(title)}</h1><p>{evidence.classifier} on {sum(evidence.classes.values())} "
        f"sequences ({counts}), {lengths}, {evidence.dim} features per token.</p>"
        f'<p class="soft">{escape(evidence.how)}</p><div class="row">{boxes}</div>'
        f"<p>The accuracy is {better} chance: {trivial}. {escape(evidence.no_recall)}</p>"
    )


def _judged(evidence: Evidence) -> str:
    roc = Chart("ROC curve", Scale("false-positive rate", *_UNIT), Scale("recall", *_UNIT))
    roc.line([(0, 0), (1, 1)], "other")
    several = len(evidence.classes) > 2
    for k, (false, true) in enumerate(evidence.roc.values()):
        style = f"c{k % len(_CLASS_COLORS)}" if several else "main"
        roc.line(zip(false.tolist(), true.tolist(), strict=True), style)
    legend = _legend(evidence) if several else ""
    calibration = Chart(
        "Calibration", Scale("predicted probability", *_UNIT), Scale("fraction right", *_UNIT)
    )
    calibration.line([(0, 0), (1, 1)], "other")
    for x, rate in evidence.calibration:
        calibration.point(x, rate.value, rate.low, rate.high, f"{x:.2f}: {rate}")
    charts = [
        (roc, f"ROC of sequences that training did not see; dashed: chance{legend}"),
        (calibration, "How often the predicted class is right; dashed: as often as claimed"),
    ]
    if len(evidence.by_length) > 1:
        longest = max(step.x for step in evidence.by_length)
        top = max(0.1, *(step.fraction.high for step in evidence.by_length))
        lengths = Chart("Error by length", from_zero("tokens", longest), from_zero("error", top))
        for x, rate in evidence.by_length:
            lengths.point(x, rate.value, rate.low, rate.high, f"{x:.0f} tokens: {rate}")
        charts.append((lengths, "Error by length of the sequence, 95 % intervals"))
    drawn = "".join(
        f"<figure>{chart.svg()}<figcaption>{text}</figcaption></figure>" for chart, text in charts
    )
    return f'<h2>How good is it?</h2><div class="charts">{drawn}{_confusion(evidence)}</div>'


def _legend(evidence: Evidence) -> str:
    """Return the color of each class against the others."""
    keys = (
        f'<i class="key" style="background:{_CLASS_COLORS[k % len(_CLASS_COLORS)]}"></i>'
        f"{escape(name)}"
        for k, name in enumerate(evidence.roc)
    )
    return f"<br>{' &ensp; '.join(keys)}"


def _confusion(evidence: Evidence) -> str:
    names = list(evidence.classes)
    head = "".join(f"<th>said {escape(name)}</th>" for name in names)
    rows = "".join(
        f"<tr><th>is {escape(name)}</th>{''.join(f'<td>{n}</td>' for n in line)}</tr>"
        for name, line in zip(names, evidence.confusion.tolist(), strict=True)
    )
    return (
        f"<figure><table><tr><td></td>{head}</tr>{rows}</table><figcaption>Sequences by their "
        "class and by the one with the highest probability</figcaption></figure>"
    )


def _kind(evidence: Evidence) -> str:
    parts = ["<h2>What kind of signal is it?</h2>"]
    if evidence.members:
        leading = max(evidence.members, key=lambda name: evidence.members[name])
        meaning = _MEANING.get(leading)
        if meaning:
            parts.append(f"<p>Mostly <b>{escape(leading)}</b>: {meaning}.</p>")
        parts.append(bars(evidence.members))
    items = "".join(f"<li>{escape(line)}</li>" for line in evidence.findings)
    parts.append(f"<ul>{items}</ul>" if items else "")
    return "".join(parts)


def _sequences(evidence: Evidence, texts: dict[str, list[str]]) -> str:
    parts = ["<h2>Sequences to look at</h2>"]
    if any(one.weights.size for one in (*evidence.right, *evidence.wrong)):
        model = "the model itself, which was trained on them" if evidence.n_refits else "the model"
        parts.append(
            '<p class="soft">One box a token: its height is the attention it gets from '
            f"{model}. Blue speaks for the predicted class, orange against it.</p>"
        )
    else:
        parts.append('<p class="soft">This classifier does not weigh tokens.</p>')
    for heading, chosen in (
        ("Most surely right", evidence.right),
        ("Most surely wrong", evidence.wrong),
    ):
        shown = "".join(_sequence(one, texts.get(one.name)) for one in chosen)
        parts.append(f"<h3>{heading}</h3>{shown or '<p>None.</p>'}")
    return "".join(parts)


def _sequence(one: Shown, texts: list[str] | None) -> str:
    verdict = f"is {escape(one.label)}"
    if one.label != one.predicted:
        verdict += f', <span class="wrong">said {escape(one.predicted)}</span>'
    tokens = ""
    if one.weights.size:
        tokens = strip(one.weights.tolist(), one.contributions.tolist(), texts)
    if texts is not None and one.weights.size:
        best = int(np.argmax(one.weights))
        tokens += f'<p class="soft">heaviest token: {escape(texts[best])}</p>'
    return (
        f'<div class="sequence"><b>{escape(one.name)}</b> {verdict}, with probability '
        f"{one.probability:.2f}{tokens}</div>"
    )


def _more_samples(evidence: Evidence) -> str:
    if evidence.plan is None:
        return ""
    n = evidence.plan.pilot_size
    sizes = [max(n // 4, 4), max(n // 2, 4), n, 2 * n, 4 * n]
    fan = np.asarray(evidence.plan.predict(sizes), dtype=float)
    chart = Chart(
        "Learning curve",
        Scale("sequences", sizes[0], sizes[-1], sizes, logarithmic=True),
        from_zero("error", max(float(fan.max()), 0.05)),
    )
    chart.band([(x, low, high) for x, (low, _, high) in zip(sizes, fan.tolist(), strict=True)])
    chart.line([(x, row[1]) for x, row in zip(sizes, fan.tolist(), strict=True)], "main")
    chart.line([(n, 0.0), (n, chart.y.high)], "other")
    words = escape(evidence.plan.summary()).replace("\n", "<br>")
    return (
        '<h2>Would more samples help?</h2><div class="row"><figure>'
        f"{chart.svg()}<figcaption>Expected error with its 80 % range; dashed: now</figcaption>"
        f"</figure><p style='flex:1 1 18rem'>{words}</p></div>"
    )
