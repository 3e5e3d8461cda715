"""The tests that ``make quick`` chooses for a change."""

import subprocess
from pathlib import Path

import pytest

from tools import changed_tests
from tools.changed_tests import ROOT, changed_files, main, select


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        pytest.param(
            ["kschedctl/scheduler/plugins/taint_toleration.py"],
            ["tests/scheduler/plugins/test_taint_toleration.py"],
            id="the file named after a module",
        ),
        pytest.param(
            ["kschedctl/common/text/yaml.py"],
            ["kschedctl/common/text/yaml.py", "tests/common/text/test_yaml.py"],
            id="and its doctests",
        ),
        pytest.param(["kschedctl/scheduler/cycle/outcome.py"], ["tests/scheduler/cycle"], id="or else the folder"),
        pytest.param(["kschedctl/questions/explain/answer.py"], ["tests/questions/explain"], id="of the same depth"),
        pytest.param(["kschedctl/output/page/style.css"], ["tests/output/page"], id="also for other files"),
        pytest.param(["kschedctl/__init__.py"], ["kschedctl/__init__.py"], id="never all tests"),
        pytest.param(["tests/test_bound.py"], ["tests/test_bound.py"], id="a test"),
        pytest.param(["tests/cli/golden/batch.txt"], ["tests/cli"], id="a golden file"),
        pytest.param(["tests/builders.py"], [], id="a helper of all tests"),
        pytest.param(
            ["tests/web/running.py", "tests/web/test_access.py"], ["tests/web"], id="a file in a chosen folder"
        ),
        pytest.param(["tools/release_notes.py"], ["tests/tools/test_release.py"], id="a tool"),
        pytest.param([".github/dependabot.yml"], [], id="what no test names"),
        pytest.param(
            ["docs/sweep.md"], ["tests/docs/test_pages.py", "tests/docs/test_reference_sections.py"], id="a page"
        ),
    ],
)
def test_select(changed: list[str], selected: list[str]) -> None:
    assert select(changed, ROOT) == selected


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a branch and main, which has moved on."""
    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "a")
        monkeypatch.setenv(f"{name}_EMAIL", "a@example.com")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    for name in ("kept", "edited", "deleted", "theirs"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "--message", "first")
    git("switch", "--create", "branch")
    (tmp_path / "committed").write_text("1")
    (tmp_path / "deleted").unlink()
    git("add", ".")
    git("commit", "--message", "second")
    git("switch", "main")
    (tmp_path / "theirs").write_text("2")
    git("commit", "--all", "--message", "third")
    git("switch", "branch")
    (tmp_path / "edited").write_text("2")
    (tmp_path / "untracked").write_text("1")
    return tmp_path


def test_changed_files_are_those_of_the_branch_and_of_the_work_tree(repository: Path) -> None:
    assert changed_files("main") == ["committed", "edited", "untracked"]


def test_nothing_to_test_is_no_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["changed_tests"])
    assert main() == 0
    assert capfd.readouterr().out == "nothing that a test mirrors changed since main\n"


@pytest.mark.slow
def test_a_failing_test_is_an_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (repository / "tests").mkdir()
    test = repository / "tests" / "test_new.py"
    test.write_text("def test_one():\n    assert 1 == 2\n")
    monkeypatch.setattr("sys.argv", ["changed_tests", "--base", "main"])
    assert main() == 1
    assert "1 failed" in capfd.readouterr().out
    test.write_text("import pytest\n@pytest.mark.slow\ndef test_one():\n    pass\n")
    assert main() == 0
