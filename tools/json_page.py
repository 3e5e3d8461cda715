"""The reference section of docs/json.md: the answers as data, made from the JSON Schema of the answers."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kschedctl.questions.schema.schema import schema

_TYPES: Final = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}


def reference() -> str:
    """Return the section as Markdown."""
    definitions: Mapping[str, Any] = schema()["$defs"]
    commands = {name: part for name, part in definitions.items() if part["title"].startswith("kschedctl ")}
    lines = ["## Answers by command"]
    for part in commands.values():
        lines += ["", f"### {part['title']}", "", f"{_type(part)}."]
    lines += ["", "## Types"]
    for name, part in definitions.items():
        if name not in commands:
            lines += ["", f"### {name}", "", part.get("description", ""), "", *_body(part)]
    return "\n".join(lines)


def _body(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a struct, or the values of an enumeration."""
    if "properties" not in part:
        yield f"{_type(part)[:1].upper()}{_type(part)[1:]}."
        return
    yield from ("| field | type | meaning |", "|---|---|---|")
    for name, field in part["properties"].items():
        yield f"| `{name}` | {_cell(_type(field))} | {_cell(field.get('description', ''))} |"


def _type(part: Mapping[str, Any]) -> str:
    """Return a type in words, with links to the types that it names."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in part:
        return _any_of(f"`{json.dumps(value).strip(chr(34))}`" for value in part["enum"])
    for several in ("anyOf", "oneOf"):
        if several in part:
            return _any_of(map(_type, part[several]))
    kind = part.get("type", "")
    if kind == "array":
        return f"list of {_type(part['items'])}" if part.get("items") else "list"
    if kind == "object":
        values = part.get("additionalProperties")
        return f"map of names to {_type(values)}" if values else "object"
    return _TYPES.get(kind, "any value")


def _any_of(types: Iterable[str]) -> str:
    *first, last = types
    return f"{', '.join(first)} or {last}" if first else last


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", r"\|").replace("<", "&lt;")
