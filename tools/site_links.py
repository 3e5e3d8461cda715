"""A hook of mkdocs: files outside ``docs/`` that pages link to become part of the site, below ``repository/``.

A Markdown file becomes a page, any other file is copied. Links to a folder lead to its README.md or index.md; a folder
without such a page stays as text.
"""

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
_DOCS: Final = "docs/"
_INCLUDED: Final = "repository/"
#: Fenced code, where nothing is a link; or a link to a file: its text, the path, and the anchor.
_PARTS: Final = re.compile(
    r"^```.*?^```$|\[(?P<text>[^\]]*)\]\((?![a-z]+:|#|/)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]+)?\)",
    re.MULTILINE | re.DOTALL,
)
_FOUND_LAST: Final = ("json.md", "python", _INCLUDED)
_CELL: Final = re.compile(r"<td.*?</td>", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside ``docs/`` that pages link to, and those that they link to in turn."""
    waiting = [f"{_DOCS}{file.src_uri}" for file in files.documentation_pages()]
    found = set(waiting)
    while waiting:
        for path in _linked(waiting.pop()):
            if path not in found and not path.startswith(_DOCS) and (ROOT / path).is_file():
                found.add(path)
                files.append(File.generated(config, f"{_INCLUDED}{path}", abs_src_path=str(ROOT / path)))
                waiting += [path] if path.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links between ``docs/`` and the rest of the repository to their places in the site.

    Pages of references that name every field come last among the results of a search.
    """
    here = page.file.src_uri
    if here.startswith(_FOUND_LAST):
        page.meta["search"] = {"boost": 0.3}

    def rewritten(part: re.Match[str]) -> str:
        if part["path"] is None:
            return part[0]
        target = _target(_in_repository(here), part["path"])
        if (ROOT / target).is_dir():
            return part["text"]
        link = posixpath.relpath(_in_site(target), posixpath.dirname(here) or ".")
        return f"[{part['text']}]({link}{part['anchor'] or ''})"

    return _PARTS.sub(rewritten, markdown)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Remove the backslash before a bar in a cell: code hosts need it there, and mkdocs would show it."""
    return _CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def _linked(path: str) -> Iterator[str]:
    """Yield the files that a page links to, as paths in the repository."""
    for part in _PARTS.finditer((ROOT / path).read_text()):
        if part["path"] is not None:
            yield _target(path, part["path"])


def _target(path: str, link: str) -> str:
    """Return the file in the repository that a link of a page leads to, whether or not it exists."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    if (ROOT / target).is_dir():
        names = (posixpath.join(target, name) for name in ("index.md", "README.md"))
        return next((name for name in names if os.path.exists(ROOT / name)), target)
    return target


def _in_repository(page: str) -> str:
    return page.removeprefix(_INCLUDED) if page.startswith(_INCLUDED) else f"{_DOCS}{page}"


def _in_site(path: str) -> str:
    return path.removeprefix(_DOCS) if path.startswith(_DOCS) else f"{_INCLUDED}{path}"
