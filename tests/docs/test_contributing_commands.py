"""The steps of CONTRIBUTING for a command and for a form of output are done for all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kschedctl.cli.commands import COMMANDS
from kschedctl.render.forms import FORMS

ROOT = Path(__file__).parents[2]
CLI, REPORT = ROOT / "kschedctl" / "cli", ROOT / "kschedctl" / "report"
GOLDEN = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "cli" / "golden").glob("*.txt")))
#: Answers in the form of recorded ones, which programs compare, so that it is neither worded nor described.
ONLY_DATA = {"batch"}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_1_a_folder_has_its_options(name: str) -> None:
    module = CLI / name / "command.py"
    assert module.read_text().startswith(f'"""``kschedctl {name}``'), f"{module} says first which command it is of"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_2_a_folder_of_the_same_name_has_its_answer(name: str) -> None:
    expected = ["answer.py"] if name in ONLY_DATA else ["answer.py", "data.py", "text.py"]
    missing = [file for file in expected if not (REPORT / name / file).exists()]
    assert not missing, f"kschedctl/report/{name} has no {', '.join(missing)}"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ONLY_DATA])
def test_command_step_3_a_schema_describes_it(name: str) -> None:
    assert (REPORT / "schema" / f"{name}.json").exists(), "a test in tests/report writes it with make golden"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_4_a_golden_file_shows_it(name: str) -> None:
    assert f"kschedctl {name}" in GOLDEN


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_5_the_changelog_and_the_readme_name_it(name: str) -> None:
    assert f"kschedctl {name}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"kschedctl {name}" in (ROOT / "README.md").read_text()


def test_nothing_else_names_the_commands() -> None:
    main = (CLI / "main.py").read_text()
    assert not [name for name in COMMANDS if f"cli.{name}" in main]


@pytest.mark.parametrize("name", [name for name in FORMS if name])
def test_form_step_1_a_module_has_it(name: str) -> None:
    module = sys.modules[FORMS[name].__module__]
    assert f"-o {name}" in (module.__doc__ or ""), f"the docstring of {module.__name__} says which form it is"


@pytest.mark.parametrize("name", [name for name in FORMS if name])
def test_form_step_2_a_golden_file_shows_it(name: str) -> None:
    assert f"-o {name}" in GOLDEN
