"""The steps of CONTRIBUTING for a command and for a form of output are done for all of them."""

import sys

import pytest

from kschedctl.cli.commands import COMMANDS
from kschedctl.output.forms import FORMS
from kschedctl.questions.answer import AnswerList
from kschedctl.questions.documents import layout_of
from kschedctl.questions.schema.schema import ANSWERS
from tests.docs import changelog
from tests.paths import ROOT

PACKAGE = ROOT / "kschedctl"
GOLDEN = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "cli" / "golden").glob("*.txt")))
#: Answers in the form of recorded ones, which programs compare: they have no type and no document.
ONLY_DATA = {"batch"}
#: A stream of its own, which is printed event by event.
STREAMS = {"watch"}
#: Their answer is a function of a name or a plan, not of a loaded cluster.
WITHOUT_CLUSTER = {"rule", "sweep", "watch", "snapshot", "serve"}
#: The module of a command's own answers, if it is not named after the command.
OWN_ANSWERS = {"serve": "inventory", "rule": "lint"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ONLY_DATA])
def test_command_step_1_types_of_its_answers_are_in_the_schema(name: str) -> None:
    kinds = [kind for command, of in ANSWERS.items() if command.split()[0] == name for kind in of]
    assert kinds, "a line in kschedctl/questions/schema/schema.py names them"
    assert {kind.__module__ for kind in kinds} == {f"kschedctl.questions.{OWN_ANSWERS.get(name, name)}.answer"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_CLUSTER])
def test_command_step_2_an_analysis_answers_it(name: str) -> None:
    assert (PACKAGE / "questions" / name / "analysis.py").exists()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ONLY_DATA | STREAMS])
def test_command_step_3_its_answers_have_documents(name: str) -> None:
    kinds = [kind for command, of in ANSWERS.items() if command.split()[0] == name for kind in of]
    assert [kind.__name__ for kind in kinds if layout_of(kind) is None and not issubclass(kind, AnswerList)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_4_a_request_or_a_module_has_its_options(name: str) -> None:
    request, module = PACKAGE / "questions" / name / "request.py", PACKAGE / "cli" / f"{name}.py"
    if module.exists():
        assert module.read_text().startswith(f'"""``kschedctl {name}``'), f"{module} names its command first"
    else:
        assert request.read_text().startswith(f'"""The question of ``{name}``'), f"{request} names its command first"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_5_a_golden_file_shows_it(name: str) -> None:
    assert f"kschedctl {name}" in GOLDEN


@pytest.mark.parametrize("name", COMMANDS)
def test_command_step_6_the_changelog_or_a_fragment_and_the_readme_name_it(name: str) -> None:
    assert f"kschedctl {name}" in changelog.text()
    assert f"kschedctl {name}" in (ROOT / "README.md").read_text()


def test_nothing_else_names_the_commands() -> None:
    main = (PACKAGE / "cli" / "main.py").read_text()
    assert not [name for name in COMMANDS if f"cli.{name}" in main]


@pytest.mark.parametrize("name", [name for name in FORMS if name])
def test_form_step_1_a_class_has_it(name: str) -> None:
    form = FORMS[name].load()
    texts = (form.__doc__ or "", sys.modules[form.__module__].__doc__ or "")
    assert any(f"-o {name}" in text for text in texts), f"the docstring of {form.__name__} says which form it is"


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if name and not form.load().draws])
def test_form_step_2_a_golden_file_shows_it(name: str) -> None:
    # Pages are looked at in a browser instead: tests/browser.
    assert f"-o {name}" in GOLDEN
