"""``make changelog`` makes a section of the fragments, and the commands of docs/new-release.md can be given."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cli import main, parser
from kschedctl.objects.releases.release import RELEASES
from tests.docs.changelog import CHANGELOG, FOLDER, FRAGMENTS, OTHERS
from tests.docs.test_readme import LINK
from tests.paths import ROOT
from tools.licences import PYPROJECT

TYPES = {each["directory"]: each["name"] for each in PYPROJECT["tool"]["towncrier"]["type"]}
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(TYPES)})\.md")
LONGEST = 120


def problems(name: str, text: str) -> list[str]:
    """Return what is wrong with a fragment."""
    lines = text.rstrip("\n").split("\n")
    found = {
        "its name is not WHAT.TYPE.md": not NAME.fullmatch(name),
        "it is empty": not text.strip(),
        "it does not end with a full stop": bool(text.strip()) and not lines[-1].endswith("."),
        "a line is too long": max(map(len, lines)) > LONGEST,
        "it has an empty line, or begins as a list": any(not line or line.startswith(("- ", "#")) for line in lines),
        "a link leads nowhere": any(not (ROOT / link).exists() for link in LINK.findall(text)),
    }
    return [problem for problem, is_found in found.items() if is_found]


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_fragments_are_in_order(path: Path) -> None:
    assert problems(path.name, path.read_text()) == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a-b.added.md", "New: see [docs/ci.md](docs/ci.md).\n", None),
        ("a.b.added.md", "New.\n", "its name is not WHAT.TYPE.md"),
        ("a.new.md", "New.\n", "its name is not WHAT.TYPE.md"),
        ("a.added", "New.\n", "its name is not WHAT.TYPE.md"),
        ("a.added.md", "New\n", "it does not end with a full stop"),
        ("a.added.md", f"{'n' * LONGEST}.\n", "a line is too long"),
        ("a.added.md", "- New.\n", "it has an empty line, or begins as a list"),
        ("a.added.md", "New.\n\nNewer.\n", "it has an empty line, or begins as a list"),
        ("a.added.md", "[New](../docs/ci.md).\n", "a link leads nowhere"),
    ],
)
def test_what_is_wrong_with_a_fragment(name: str, text: str, problem: str | None) -> None:
    assert problems(name, text) == ([problem] if problem else [])


def test_an_empty_fragment_is_found() -> None:
    assert "it is empty" in problems("a.added.md", "\n")


def test_the_page_of_fragments_has_all_types() -> None:
    assert re.findall(r"^\| `(\w+)`", (FOLDER / "README.md").read_text(), re.MULTILINE) == list(TYPES)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a folder with the changelog and its settings, and with fragments of all types."""
    (tmp_path / "changes").mkdir()
    for path in (CHANGELOG, ROOT / "pyproject.toml", *(FOLDER / name for name in OTHERS)):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    for type_ in reversed(TYPES):
        (tmp_path / "changes" / f"z-1.{type_}.md").write_text(f"The last of {type_},\nin two lines.\n")
    (tmp_path / "changes" / "a.added.md").write_text("The first.\n")
    return tmp_path


def build(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "towncrier", "build", "--version", "9.8.7", "--date", "2030-01-02", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def expected() -> str:
    section = ["## 9.8.7 (2030-01-02)", ""]
    for type_, name in TYPES.items():
        first = ["- The first."] if type_ == "added" else []
        section += [f"### {name}", "", *first, f"- The last of {type_},", "  in two lines.", ""]
    return "\n".join(section)


def test_fragments_become_a_section(copied: Path) -> None:
    before = CHANGELOG.read_text()
    assert build(copied, "--draft").rstrip("\n") + "\n" == expected()
    assert (copied / "CHANGELOG.md").read_text() == before
    build(copied, "--yes")
    head, mark, versions = before.partition("<!-- towncrier release notes start -->\n")
    assert (copied / "CHANGELOG.md").read_text() == f"{head}{mark}\n{expected()}{versions}"
    assert {path.name for path in (copied / "changes").iterdir()} == OTHERS


def test_a_fragment_with_a_wrong_name_is_an_error(copied: Path) -> None:
    (copied / "changes" / "a.new.md").write_text("New.\n")
    with pytest.raises(subprocess.CalledProcessError) as error:
        build(copied, "--draft")
    assert "a.new.md" in error.value.stderr


def test_the_first_heading_is_about_decisions() -> None:
    assert next(iter(TYPES.values())) == "Scheduling decisions"
    for version in re.split(r"^## ", CHANGELOG.read_text(), flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.*)$", version, re.MULTILINE)
        assert headings == [name for name in TYPES.values() if name in headings]


PAGE = (ROOT / "docs" / "new-release.md").read_text()
OLD, NEW = [*RELEASES][-2:]
#: The next release, whose files do not exist yet.
NEXT = f"1.{int(NEW.split('.')[1]) + 1}"


def lines() -> list[str]:
    """Return the commands of the page, for the newest release in place of the next one."""
    code = "\n".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    commands = [re.split(r" +#| > ", line)[0].strip() for line in code.splitlines()]
    return [line.replace("$NEW", NEW).replace("$OLD", OLD) for line in commands if line]


def test_the_page_is_about_the_next_release() -> None:
    assert f"export NEW={NEXT} OLD={NEW}\n" in PAGE


@pytest.mark.parametrize("line", [line for line in lines() if "-m conformance " in line])
def test_commands_of_the_tool_can_be_given(line: str) -> None:
    words = shlex.split(line.partition("-m conformance ")[2])
    assert parser().parse_args(words).run


def test_the_example_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(
        r"^```bash\npython -m conformance (changes .*)\n```\n\n```text\n(.*?)```$", PAGE, re.M | re.DOTALL
    )
    assert found is not None
    assert main(shlex.split(found[1])) == 1
    assert capsys.readouterr().out == found[2]


@pytest.mark.parametrize("line", [line for line in lines() if line.startswith("make ")])
def test_targets_exist(line: str) -> None:
    targets = [word for word in line.split()[1:] if "=" not in word]
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target


def test_there_are_commands_of_both_kinds() -> None:
    assert sum("-m conformance " in line for line in lines()) >= 8
    assert sum(line.startswith("make ") for line in lines()) >= 3


def test_files_exist() -> None:
    text = PAGE.replace("$NEW", NEW).replace("$OLD", OLD)
    names = re.findall(r"`((?:[\w.-]+/)+[\w.*-]*)`", text) + re.findall(r"(?:^|\s)((?:tests|tools|fixtures)/\S+)", text)
    ours = [name for name in names if NEXT not in name and not name.startswith(("pkg/", "k8s.io/"))]
    found = {name.rstrip(".,:;`)") for name in ours}
    assert len(found) > 15
    assert [name for name in sorted(found) if not any(ROOT.glob(name))] == []


def test_the_checklist_has_every_step() -> None:
    steps = re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)
    checklist = PAGE.partition("## Checklist\n")[2]
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert sorted(set(re.findall(r"^- \[ \] (\d+)", checklist, re.MULTILINE)), key=int) == steps
