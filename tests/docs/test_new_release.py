"""The commands of docs/new-release.md can be given, and the files and targets that it names exist."""

import re
import shlex

import pytest

from conformance.cli import main, parser
from kschedctl.objects.releases.release import RELEASES
from tests.paths import ROOT

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
