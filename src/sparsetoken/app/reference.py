"""``/api/docs``: the service described in one page, without a line of script."""

from html import escape
from typing import Any

__all__ = ["reference"]


def reference(schema: dict[str, Any]) -> str:
    """Return the page for an OpenAPI schema."""
    routes = [
        _route(path, method, route)
        for path, methods in schema["paths"].items()
        for method, route in methods.items()
    ]
    types = [_type(name, part) for name, part in schema["components"]["schemas"].items()]
    title = escape(schema["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}: service</title>'
        f'<link rel="stylesheet" href="/static/explorer.css"><body class="reference"><main>'
        f"<h1>{title}: service</h1><p>The page is made of these routes; so can be your scripts. "
        f'The same as <a href="/api/openapi.json">OpenAPI</a>.</p>'
        f"{''.join(routes)}<h2>Types</h2>{''.join(types)}</main></body></html>"
    )


def _route(path: str, method: str, route: dict[str, Any]) -> str:
    body = route.get("requestBody", {}).get("content", {})
    answers = route.get("responses", {})
    taken = [_kind(part.get("schema", {})) for part in body.values()]
    given = [
        _kind(part.get("schema", {}))
        for code, answer in answers.items()
        if code == "200"
        for part in answer.get("content", {}).values()
    ]
    rows = [
        (part["name"], _limits(part.get("schema", {})), part.get("description", ""))
        for part in route.get("parameters", [])
    ]
    flow = "; ".join([*(f"takes {kind}" for kind in taken), *(f"returns {kind}" for kind in given)])
    return (
        f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
        f"<p>{escape(route.get('summary', ''))}{f' ({flow})' * bool(flow)}</p>{_table(rows)}"
    )


def _type(name: str, part: dict[str, Any]) -> str:
    rows = [
        (field, _limits(about), about.get("description", ""))
        for field, about in part.get("properties", {}).items()
    ]
    return f'<h3 id="{escape(name)}">{escape(name)}</h3>{_table(rows)}'


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = [
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{kind}</td>'
        f"<td>{escape(words)}</td></tr>"
        for name, kind, words in rows
    ]
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(escape(str(option)) for option in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return escape(str(schema.get("type", "anything")))


def _limits(schema: dict[str, Any]) -> str:
    parts = [schema, *schema.get("anyOf", [])]
    ends = [f"{part['minimum']:g} to {part['maximum']:g}" for part in parts if "maximum" in part]
    default = [f"default {schema['default']}"] if "default" in schema else []
    return ", ".join([_kind(schema), *ends, *map(escape, default)])
