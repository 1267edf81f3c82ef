"""Formulas as MathML, which browsers draw themselves: no script, no network."""

from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml

__all__ = ["setup"]


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(tex2mathml(node.astext()))
    _skip()


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    _skip()


def _skip() -> None:
    from docutils import nodes

    raise nodes.SkipNode
