"""An answer for programs: JSON, YAML, names, or a JSONPath template's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kschedctl.report.explain.data import Data, Explanation, Result
from kschedctl.report.render.jsonpath import evaluate, parse_template


def as_json(value: Data) -> str:
    """JSON as described by the command's file in ``schema``."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_yaml(value: Data) -> str:
    """The same data as YAML."""
    import yaml

    text: str = yaml.dump(_plain(value), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def as_names(values: Sequence[Explanation], *, single: bool = True) -> str:
    """The nodes that the pods go to, a line each as kubectl names them; nothing for a pod that goes nowhere.

    Parameters
    ----------
    values : sequence of Explanation
        The answers.
    single : bool
        Whether one pod is asked about; else each line starts with the pod: ``pod/NAMESPACE/NAME node/NODE``.
    """
    lines = []
    for value in values:
        verdict, pod = value.verdict, value.pod
        if verdict.result is Result.SCHEDULED:
            start = "" if single else f"pod/{pod.namespace}/{pod.name} "
            names = (verdict.picked,) if verdict.picked else verdict.nodes
            lines += [f"{start}node/{name}\n" for name in names]
    return "".join(lines)


def as_jsonpath(value: Data, template: str) -> str:
    """What a JSONPath template makes of it, as kubectl prints it."""
    return evaluate(parse_template(template), _plain(value))


def _plain(value: Data) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
