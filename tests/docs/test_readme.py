"""README's Python example runs, CI does what README says, and its table of extras is complete."""

import re
import tomllib

import pytest

from tests.paths import ROOT

README = ROOT / "README.md"
EXTRA = re.compile(r"""install_command\(["'](\w+)["']\)""")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def test_ci_installs_and_tests_as_readme_says() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    first, second = re.search(r"^```bash\n(.*)\n(.*)\n^```$", README.read_text(), re.MULTILINE).groups()  # type: ignore[union-attr]
    (installed,) = re.findall(r"pip install (\S+) &&", first)
    assert f"\npip install --quiet {installed}\n" in ci
    assert "kschedctl explain shop/web-7" in ci
    assert "kschedctl explain shop/web-7" in first
    for step in second.split(" && "):
        assert step.removeprefix("pip install ") in ci


def packages(requirements: list[str]) -> set[str]:
    return {re.split("[<>=~!]", requirement)[0].lower() for requirement in requirements}


def test_every_extra_is_in_readme_and_in_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {name for path in (ROOT / "kschedctl").rglob("*.py") for name in EXTRA.findall(path.read_text())}
    assert {*extras} == {*named, "all", "dev", "docs"}
    assert {*extras["all"]} == {f"kschedctl[{','.join(sorted(named))}]"}
    install = README.read_text().partition("## Install")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in install.splitlines() if line.startswith("| ")]
    written = {row[0].strip("`"): set(row[2].lower().split(", ")) for row in rows[1:]}
    assert written == {"(base)": packages(project["dependencies"])} | {name: packages(extras[name]) for name in named}


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "docs/tour.md", "docs/promises.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("docs/dependencies.md", "changes/README.md"),
        *("conformance/README.md", "fixtures/conformance/README.md", "tests/conformance/README.md"),
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    dead = [
        link for link in LINK.findall((ROOT / name).read_text()) if not (ROOT / name).parent.joinpath(link).exists()
    ]
    assert not dead
