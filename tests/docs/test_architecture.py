"""ARCHITECTURE lists the rooms as the contract has them, and docstrings are written in plain English."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.paths import ROOT

ROOMS = sorted(path.parent.name for path in (ROOT / "kschedctl").glob("*/__init__.py"))
BLOCK = re.compile(r"(<!-- rooms -->\n).*?(<!-- /rooms -->)", re.DOTALL)


def layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["type"] == "layers"]
    return [[name.strip().removeprefix("kschedctl.") for name in layer.split("|")] for layer in contract["layers"]]


def described(name: str) -> str:
    """A room or module with the first line of its docstring."""
    folder, module = ROOT / "kschedctl" / name / "__init__.py", ROOT / "kschedctl" / f"{name}.py"
    path = folder if folder.exists() else module
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0].replace("\n", " ")
    return f"`{name}/`: {first}" if path == folder else f"`{name}.py`: {first}"


def picture() -> str:
    return "\n" + "".join(f"- {'<br>'.join(map(described, layer))}\n" for layer in reversed(layers())) + "\n"


def test_the_picture_is_the_contract(request: pytest.FixtureRequest) -> None:
    path = ROOT / "ARCHITECTURE.md"
    written = path.read_text()
    made = BLOCK.sub(lambda found: f"{found[1]}{picture()}{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        path.write_text(made)
    else:
        assert written == made, "make golden writes the list of rooms anew"


@pytest.mark.parametrize("room", ROOMS)
def test_the_room_has_its_place_among_the_layers(room: str) -> None:
    assert any(room in layer for layer in layers())


PACKAGE = ROOT / "kschedctl"
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
#: Modules below 60 lines that at most one other imports, with the reason why they are no part of it.
SMALL = {
    "kschedctl.__main__": "python -m kschedctl",
    "kschedctl.cli.kubectl_completion": "a script of its own",
    "kschedctl.cli.names": "a process of its own, started by completion",
    "kschedctl.cli.start": "handles Ctrl-C while the rest is imported",
    "kschedctl.output.text": "the default form, imported before the layout is needed",
    "kschedctl.questions.explain.claims": "imports the allocator of devices, for pods with claims only",
    "kschedctl.sources.snapshot.positions": "reads a file again, for errors only",
}
#: Registries import these: a command, and the request and the document of a question.
REGISTERED = re.compile(r"kschedctl\.(cli\.[a-z]+|questions\.[a-z]+\.(document|request))")


def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    found[one].add(name)
    return found


def test_a_module_holds_one_concept_whole() -> None:
    found = importers()
    sizes = {name: len(path.read_text().splitlines()) for name, path in FILES.items() if path.name != "__init__.py"}
    assert {name for name, size in sizes.items() if size > 700} == set()
    small = {name for name, size in sizes.items() if size < 60 and len(found[name]) < 2}
    small -= {name for name in small if REGISTERED.fullmatch(name) and name not in SMALL}
    assert small == {*SMALL}, "a small module with one importer is part of it, or has a reason"


FOLDERS = ("kschedctl", "conformance", "benchmarks", "tools", "examples", "tests")
#: A docstring that opens with one of these is a clause without a noun, or refers to nothing.
OPENINGS = {
    *("What", "Whether", "How", "Which", "Where", "Who", "Whom", "Whose", "Why", "When"),
    *("That", "Those", "This", "These", "Such", "So", "Of", "It", "They"),
}
#: ``name : type`` of a numpydoc section.
PARAMETER = re.compile(r"^ *\*{0,2}\w+(, \*{0,2}\w+)* : ")
DOCUMENTED = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


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
    for path in DOCUMENTED:
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
