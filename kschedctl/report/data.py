"""An answer for programs: JSON, YAML, names, or a JSONPath template's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kschedctl.report.explanation import Data, Explanation
from kschedctl.report.jsonpath import evaluate, parse_template


def as_json(value: Data) -> str:
    """JSON as described by the command's file in ``schema``."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_yaml(value: Data) -> str:
    """The same data as YAML."""
    import yaml

    text: str = yaml.dump(_plain(value), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def as_names(values: Sequence[Explanation]) -> str:
    """The nodes that the pods can go to, a line each as kubectl names them; nothing for a pod that fits nowhere."""
    chosen = ((value.verdict.picked,) if value.verdict.picked else value.verdict.nodes for value in values)
    return "".join(f"node/{name}\n" for names in chosen for name in names)


def as_jsonpath(value: Data, template: str) -> str:
    """What a JSONPath template makes of it, as kubectl prints it."""
    return evaluate(parse_template(template), _plain(value))


def _plain(value: Data) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
