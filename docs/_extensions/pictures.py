"""``.. picture::``: a drawing that its page computes whenever the site is built.

The content is Python that leaves a ``figure``; what it prints stands below as text. With
``:continued:`` the examples of the page are run before it, so that it can use their names.

``.. named-figures::``: those of ``sparsetoken figure`` that are in ``_static/figures``.
"""

import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from sparsetoken.experiments.figures import SUMMARIES
from sparsetoken.plotting import save_picture, styled

__all__ = ["NamedFigures", "Picture", "setup"]


class Picture(SphinxDirective):
    """Run the content, save its ``figure`` as SVG, and show it with the caption."""

    has_content = True
    option_spec = {  # noqa: RUF012
        "caption": directives.unchanged_required,
        "continued": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the picture and what was printed."""
        namespace: dict[str, Any] = {}
        if "continued" in self.options:
            page = Path(self.env.doc2path(self.env.docname)).read_text()
            with contextlib.redirect_stdout(io.StringIO()):
                for example in doctest.DocTestParser().get_examples(page):
                    exec(example.source, namespace)
        code = compile("\n".join(self.content), f"picture of {self.env.docname}", "exec")
        printed = io.StringIO()
        with styled(), contextlib.redirect_stdout(printed):
            exec(code, namespace)
        name = f"{self.env.docname.replace('/', '-')}-{self.env.new_serialno('picture')}.svg"
        folder = Path(self.env.srcdir, "pictures")
        folder.mkdir(exist_ok=True)
        save_picture(namespace["figure"], folder / name)
        caption = self.options["caption"]
        image = nodes.image(uri=f"/pictures/{name}", alt=caption)
        text, _ = self.state.inline_text(caption, self.lineno)
        shown: list[nodes.Node] = [nodes.figure("", image, nodes.caption("", "", *text))]
        if printed.getvalue():
            shown.append(nodes.literal_block(text=printed.getvalue(), language="text"))
        return shown


class NamedFigures(SphinxDirective):
    """Show every named figure with its summary."""

    def run(self) -> list[nodes.Node]:
        """Return the figures in the order of the command's list."""
        shown = ""
        for name, summary in SUMMARIES.items():
            path = f"_static/figures/{name}.svg"
            if Path(self.env.srcdir, path).exists():
                text = f"\n   :alt: {summary}\n\n   ``{name}``: {summary}.\n\n"
                shown += f".. figure:: /{path}{text}"
        return self.parse_text_to_nodes(shown)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx about the directives."""
    app.add_directive("picture", Picture)
    app.add_directive("named-figures", NamedFigures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
