"""Docstrings and comments on attributes are written in plain English; ruff checks the imperative mood of functions."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.paths import ROOT

FOLDERS = ("kschedctl", "conformance", "benchmarks", "tools", "examples", "tests")
#: A docstring that opens with one of these is a clause without a noun, or refers to nothing.
OPENINGS = {
    *("What", "Whether", "How", "Which", "Where", "Who", "Whom", "Whose", "Why", "When"),
    *("That", "Those", "This", "These", "Such", "So", "Of", "It", "They"),
}
#: ``name : type`` of a numpydoc section.
PARAMETER = re.compile(r"^ *\*{0,2}\w+(, \*{0,2}\w+)* : ")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def parameter_texts(docstring: str) -> Iterator[str]:
    lines = docstring.splitlines()
    return (text.strip() for name, text in pairwise(lines) if PARAMETER.match(name))


def attribute_comments(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines()]
    for before, line in pairwise(["", *lines]):
        if line.startswith("#: ") and not before.startswith("#:"):
            yield line.removeprefix("#: ")


@pytest.mark.parametrize("folder", FOLDERS)
def test_none_opens_with_a_question_word_or_a_bare_demonstrative(folder: str) -> None:
    odd = []
    for path in FILES:
        if path.relative_to(ROOT).parts[0] != folder:
            continue
        source = path.read_text()
        for text in docstrings(ast.parse(source)):
            every = (text, *parameter_texts(text))
            odd += [f"{path.relative_to(ROOT)}: {one.splitlines()[0]}" for one in every if opening(one) in OPENINGS]
        odd += [f"{path.relative_to(ROOT)}: {one}" for one in attribute_comments(source) if opening(one) in OPENINGS]
    assert odd == []


def opening(text: str) -> str:
    return text.split(maxsplit=1)[0].strip(",.:;") if text.strip() else ""


@pytest.mark.parametrize(
    ("text", "word"), [("What comes of it.", "What"), ("Those, of a cluster.", "Those"), ("The pods.", "The"), ("", "")]
)
def test_the_opening_is_the_first_word(text: str, word: str) -> None:
    assert opening(text) == word
