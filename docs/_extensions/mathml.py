"""Formulas as MathML, which browsers draw themselves: no script, no network."""

import re
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

__all__ = ["setup"]

# Norms and angles would grow with what is next to them; primes are not apostrophes.
_REPLACED = {f"<mo>{sign}</mo>": f'<mo stretchy="false">{sign}</mo>' for sign in "‖⟨⟩"} | {
    "<mo>'</mo>": '<mo lspace="0" rspace="0">′</mo>'
}

# An index belongs beside a letter with a hat, not below it.
_INDEXED_HAT = re.compile(
    r"<munderover>(<mi>\w</mi>)((?:(?!<munderover>).)*?)(<mo[^>]*>[ˆ¯]</mo>)</munderover>"
)


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(_convert(node.astext(), as_block=False))
    raise SkipNode


def _block(translator: Any, node: Any) -> None:
    formula = node.astext()
    if "&" in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    start = translator.starttag(node, "div", "", CLASS="formula")
    translator.body.append(f"{start}{_convert(formula, as_block=True)}{number}</div>")
    raise SkipNode


def _convert(formula: str, *, as_block: bool) -> str:
    # Without line breaks, which would show as spaces before a comma.
    text = "".join(line.strip() for line in tex2mathml(formula, as_block=as_block).splitlines())
    text = _INDEXED_HAT.sub(r"<msub><mover>\1\3</mover>\2</msub>", text)
    for old, new in _REPLACED.items():
        text = text.replace(old, new)
    return text
