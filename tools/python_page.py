"""The reference section of docs/python.md: the questions, made from their requests."""

import inspect
import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import kschedctl
from kschedctl.questions.method import Method, documented
from kschedctl.questions.request import AnalysisRequest


def reference() -> str:
    """Return the section as Markdown."""
    methods = {name: each for name, each in vars(kschedctl.SchedulingCluster).items() if isinstance(each, Method)}
    methods["nodes"] = vars(kschedctl.NodeList)["__call__"]
    return "\n".join(line for name in sorted(methods) for line in _lines(name, methods[name].request))


def _lines(name: str, kind: type[AnalysisRequest[Any]]) -> Iterator[str]:
    texts, parameters = kind.texts(), inspect.signature(kind).parameters
    shown = {each: text for each, text in documented(kind).items() if each != "handle"}
    positional = [each for each in shown if parameters[each].kind is not inspect.Parameter.KEYWORD_ONLY]
    keywords = [each for each in shown if each not in positional]
    paragraphs = (" ".join(each.split()) for each in texts[""].split("\n\n"))
    yield from (f"### {name}", "")
    yield from (f"`cluster.{name}({', '.join((*positional, *(('*', *keywords) if keywords else ())))})`", "")
    for paragraph in paragraphs:
        yield from (*wrap(paragraph, 120), "")
    if shown:
        yield from ("| parameter | default | what |", "|---|---|---|")
    for each, text in shown.items():
        default = parameters[each].default
        value = "" if default in (inspect.Parameter.empty, None, "", ()) else f"`{default!s}` "
        yield f"| `{each}` | {value}| {text} |"
    if shown:
        yield ""
    for error, text in re.findall(r"^(\w+)\n    (.*(?:\n    .*)*)", texts.get("Raises", ""), re.M):
        yield f"- `{error}` {text[0].lower()}{' '.join(text[1:].split())}"
    if "Raises" in texts:
        yield ""
    if "Examples" in texts:
        yield from ("```pycon", texts["Examples"].rstrip(), "", "```", "")
