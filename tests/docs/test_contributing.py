"""The steps of CONTRIBUTING are done for all plugins, edits, commands and forms; what fails here names the step."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kschedctl.cli.commands import COMMANDS
from kschedctl.objects.releases.release import RELEASES
from kschedctl.output.forms import FORMS
from kschedctl.questions.answer import AnswerList
from kschedctl.questions.documents import layout_of
from kschedctl.questions.schema.schema import ANSWERS
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.testing.plugin_checks import undocumented_fields
from kschedctl.trials.whatif.cluster_edits import NodeEdit
from kschedctl.trials.whatif.edit import Edit, FileEdit, PodEdit
from kschedctl.trials.whatif.edits import EDITS
from tests.docs import changelog
from tests.paths import ROOT

NAMES = sorted(IN_TREE_PLUGINS)


def module_of(plugin: type[Plugin] | type[Edit]) -> Path:
    file = sys.modules[plugin.__module__].__file__
    assert file is not None
    return Path(file)


@pytest.mark.parametrize("name", NAMES)
def test_step_1_the_class_is_named_after_the_plugin(name: str) -> None:
    assert IN_TREE_PLUGINS[name].__name__ == name


@pytest.mark.parametrize("name", NAMES)
def test_step_2_the_docstring_states_the_rule(name: str) -> None:
    plugin = IN_TREE_PLUGINS[name]
    texts = (plugin.__doc__ or "", sys.modules[plugin.__module__].__doc__ or "")
    assert any(text.startswith(name) for text in texts), "a docstring begins with the plugin's name and its rule"
    assert "plugins/" in (plugin.__doc__ or ""), "the docstring of the class names the upstream package"


def derived(kind: type[Operands]) -> Iterator[type[Operands]]:
    """The structs of this package behind reasons, at any remove."""
    for struct in kind.__subclasses__():
        yield from derived(struct)
        if struct.__module__.startswith("kschedctl."):
            yield struct


@pytest.mark.parametrize("struct", sorted(derived(Operands), key=str))
def test_step_2_the_docstring_of_operands_says_what_each_field_is(struct: type[Operands]) -> None:
    assert undocumented_fields(struct) == ()


@pytest.mark.parametrize("name", NAMES)
def test_step_3_the_registry_has_it_under_its_name(name: str) -> None:
    assert IN_TREE_PLUGINS[name].name == name


@pytest.mark.parametrize("name", NAMES)
def test_step_4_a_release_runs_it_by_default(name: str) -> None:
    # Gates that are off by default add plugins as well.
    every = [replace(release, features=dict.fromkeys(release.features, True)) for release in RELEASES.values()]
    runs_it = [release for release in every if name in dict(release.default_plugins)]
    assert runs_it, "add it to the default plugins of a release in releases/release.py, or say there why not"


@pytest.mark.parametrize("name", NAMES)
def test_step_5_a_test_file_mirrors_the_module(name: str) -> None:
    path = module_of(IN_TREE_PLUGINS[name]).relative_to(ROOT / "kschedctl" / "scheduler" / "plugins")
    folder = ROOT / "tests" / "scheduler" / "plugins"
    expected = folder / path.with_name(f"test_{path.name}")
    # A plugin that is a folder of modules may have a test file for each of them.
    split = path.name == "plugin.py" and any((folder / path.parent).glob("test_*.py"))
    assert expected.exists() or split, f"{expected} is missing"


@pytest.mark.parametrize("name", NAMES)
def test_step_6_the_changelog_or_a_fragment_names_it(name: str) -> None:
    assert name in changelog.text()


EDIT_NAMES = {edit.option.name: edit for edit in EDITS}


@pytest.mark.parametrize("name", EDIT_NAMES)
def test_edit_step_1_the_option_has_a_metavar_and_a_help(name: str) -> None:
    option = EDIT_NAMES[name].option
    assert re.fullmatch(r"--[a-z-]+", option.flag)
    assert option.metavar.isupper()
    assert option.help.startswith("Answer as if ")
    assert EDIT_NAMES[name].__doc__


def test_edit_step_2_every_edit_is_in_the_list() -> None:
    bases = (Edit, PodEdit, FileEdit, NodeEdit)
    edits = {kind.__name__ for base in bases for kind in base.__subclasses__()} - {base.__name__ for base in bases}
    assert edits == {kind.__name__ for kind in EDITS}, "add it to EDITS in kschedctl/trials/whatif/edits.py"


@pytest.mark.parametrize("name", EDIT_NAMES)
def test_edit_step_4_the_changelog_or_a_fragment_and_the_readme_name_it(name: str) -> None:
    flag = f"`{EDIT_NAMES[name].option.flag}`"
    assert flag in changelog.text()
    assert flag in (ROOT / "README.md").read_text()


PACKAGE = ROOT / "kschedctl"
GOLDEN = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "cli" / "golden").glob("*.txt")))
#: Answers in the form of recorded ones, which programs compare: they have no type and no document.
ONLY_DATA = {"batch"}
#: A stream of its own, which is printed event by event.
STREAMS = {"watch"}
#: Their answer is a function of a name or a plan, not of a loaded cluster.
WITHOUT_CLUSTER = {"rule", "sweep", "watch", "snapshot", "serve"}
#: The answers are those of other commands, in another form.
ANSWERS_OF_OTHERS = {"mcp"}
#: The module of a command's own answers, if it is not named after the command.
OWN_ANSWERS = {"serve": "inventory", "rule": "lint"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ONLY_DATA | ANSWERS_OF_OTHERS])
def test_command_step_1_types_of_its_answers_are_in_the_schema(name: str) -> None:
    kinds = [kind for command, of in ANSWERS.items() if command.split()[0] == name for kind in of]
    assert kinds, "a line in kschedctl/questions/schema/schema.py names them"
    assert {kind.__module__ for kind in kinds} == {f"kschedctl.questions.{OWN_ANSWERS.get(name, name)}.answer"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_CLUSTER | ANSWERS_OF_OTHERS])
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
