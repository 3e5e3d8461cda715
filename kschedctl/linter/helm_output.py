"""The output of ``helm template``: each document has a comment with the template that it was rendered from."""

from __future__ import annotations

import re
from glob import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

_SEPARATOR: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_SOURCE: Final = re.compile(rb"(?:---[ \t]*\r?\n)?(?:[ \t]*\r?\n)*# Source: ([^\r\n]*\S)")
_CHART: Final = "Chart.yaml"
_KEY: Final = re.compile(r"(?:- )?([\w./-]+):")


def is_helm_output(text: bytes) -> bool:
    """Report whether a text begins with the comment of Helm."""
    return _SOURCE.match(text) is not None


def split_by_source(text: bytes) -> list[tuple[str, bytes]]:
    r"""Return the templates in the output of Helm, each with its documents; documents before the first have no name.

    Examples
    --------
    >>> output = b"---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 1\n---\nb: 2\n"
    >>> [(name, text.count(b"---")) for name, text in split_by_source(output)]
    [('web/templates/a.yaml', 1), ('web/templates/b.yaml', 2)]
    """
    starts = [0, *(found.start() for found in _SEPARATOR.finditer(text) if found.start()), len(text)]
    parts: dict[str, list[bytes]] = {}
    name = ""
    for start, end in pairwise(starts):
        chunk = text[start:end]
        if (source := _SOURCE.match(chunk)) is not None:
            name = source[1].decode(errors="replace")
        # A document without the comment is of a file that Helm copies, such as a CustomResourceDefinition.
        parts.setdefault(name, []).append(chunk)
    return [(name, b"".join(chunks)) for name, chunks in parts.items() if name or b"".join(chunks).strip()]


def template_path(source: str, chart_folder: str = "") -> str:
    """Return the path of the template that Helm names, which begins with the name of the chart.

    Parameters
    ----------
    source : str
        The template as Helm names it, such as ``web/templates/deployment.yaml``.
    chart_folder : str
        The folder of the chart; if empty, a chart of that name is searched in the current folder and two levels below.
        If there is none, or more than one, the name is returned unchanged.
    """
    chart, _, inside = source.partition("/")
    if chart_folder:
        return str(Path(chart_folder, inside))
    globs = (_CHART, *(f"{folders}{escape(chart)}/{_CHART}" for folders in ("", "*/", "*/*/")))
    charts = (path.parent for pattern in globs for path in Path().glob(pattern))
    found = [folder / inside for folder in charts if (folder / inside).is_file()]
    return str(found[0]) if len(found) == 1 else source


def line_in_template(template: list[str], line: str) -> int:
    """Return the number of the line of a template that a rendered line probably comes from, from 1.

    That is the only line with the same text, else the only one with the same key, else the first line.

    Examples
    --------
    >>> line_in_template(["spec:", "  replicas: {{ .Values.replicas }}", "  paused: true"], "  replicas: 3")
    2
    """
    for text_of in (str.strip, _key):
        wanted = text_of(line)
        same = [number for number, each in enumerate(template, 1) if wanted and text_of(each) == wanted]
        if len(same) == 1:
            return same[0]
    return 1


def _key(line: str) -> str:
    found = _KEY.match(line.strip())
    return found[1] if found is not None else ""
