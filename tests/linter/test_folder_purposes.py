"""The purposes of folders by their names, and the severity of findings in them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kschedctl.common.findings import Severity
from kschedctl.linter.folder_purposes import Purpose, purpose_of
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult
from kschedctl.linter.run import lint as lint_paths
from kschedctl.linter.settings import Settings

TESTS, RELEASES, PAST = Purpose.TESTS, Purpose.RELEASES, Purpose.PAST


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("web.yaml", None),
        ("deploy/web.yaml", None),
        ("test.yaml", None),
        ("test/web.yaml", (TESTS, "test", "test")),
        ("a/Tests/b/web.yaml", (TESTS, "a/Tests", "a/Tests")),
        ("a/e2e/web.yaml", (TESTS, "a/e2e", "a/e2e")),
        ("fixtures/v1.2/web.yaml", (TESTS, "fixtures", "fixtures")),
        ("a/.chainsaw-test/web.yaml", (TESTS, "a/.chainsaw-test", "a/.chainsaw-test")),
        ("integration-tests/web.yaml", (TESTS, "integration-tests", "integration-tests")),
        ("test-data/web.yaml", (TESTS, "test-data", "test-data")),
        ("pkg/testdata/web.yaml", (TESTS, "pkg/testdata", "pkg/testdata")),
        # Words that only contain one of the names.
        ("latest/web.yaml", None),
        ("contest/web.yaml", None),
        ("test-infra/web.yaml", None),
        ("testing/web.yaml", (TESTS, "testing", "testing")),
        ("load-testing/web.yaml", (TESTS, "load-testing", "load-testing")),
        ("web-e2e-test/web.yaml", (TESTS, "web-e2e-test", "web-e2e-test")),
        ("testing-manifests/web.yaml", (TESTS, "testing-manifests", "testing-manifests")),
        # Environments and versions of an application, and an address.
        ("apps/web-test/web.yaml", None),
        ("apps/web-testing/web.yaml", None),
        ("apps/postgres-15.4/web.yaml", None),
        ("10.0.0.1/web.yaml", None),
        ("hosts/web-10.0.0.1.yaml", None),
        # An environment named test.
        ("overlays/test/web.yaml", None),
        ("clusters/test/apps/web.yaml", None),
        ("install/v0.3.0/web.yaml", (RELEASES, "install", "install/v[0-9]*")),
        ("install/v0.4.0-rc1/crds/web.yaml", (RELEASES, "install", "install/v[0-9]*")),
        ("install/0.1.0/web.yaml", (RELEASES, "install", "install/[0-9]*")),
        ("release-1.27/web.yaml", (RELEASES, ".", "release-[0-9]*")),
        ("deploy/k8s-1.36/web.yaml", (RELEASES, "deploy", "deploy/k8s-[0-9]*")),
        ("1.2.x/web.yaml", (RELEASES, ".", "[0-9]*")),
        ("releases/operator-1.20.0.yaml", (RELEASES, "releases", "releases/operator-[0-9]*")),
        ("releases/v1.20.0-rc1.yaml", (RELEASES, "releases", "releases/v[0-9]*")),
        # A version of an API, a number, and a name with a number.
        ("deploy/v1/web.yaml", None),
        ("deploy/v1beta1/web.yaml", None),
        ("2024/web.yaml", None),
        ("web-1.2.yaml", None),
        ("legacy/v1.2.0/web.yaml", (PAST, "legacy", "legacy")),
        ("older/web.yaml", None),
    ],
)
def test_the_outermost_folder_with_a_purpose_decides(path: str, expected: tuple[Purpose, str, str] | None) -> None:
    assert purpose_of(path) == expected


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeName: a, containers: [{name: c, image: c}]}\n"


def linted(paths: Sequence[str], **options: object) -> LintResult:
    rules = [rule for rule in RULES if rule.code == "KS119"]
    return lint_paths(paths, LintRequest(rules=rules, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "named", "severity"),
    [
        ("deploy/web.yaml", "", Severity.WARNING),
        ("test/e2e/web.yaml", "", Severity.INFO),
        (".chainsaw-test/web.yaml", "", Severity.INFO),
        ("v1.2.3/web.yaml", "", Severity.INFO),
        ("old/web.yaml", "", Severity.WARNING),
        # What is named itself is meant.
        ("test/web.yaml", "test", Severity.WARNING),
        ("test/e2e/web.yaml", "test", Severity.INFO),
    ],
)
def test_findings_in_manifests_that_are_not_applied_are_info(
    tmp_path: Path, file: str, named: str, severity: Severity
) -> None:
    path = tmp_path / "tests" / file
    path.parent.mkdir(parents=True)
    path.write_text(POD)
    found = linted([str(tmp_path / "tests" / named)])
    assert [each.severity for each in found.found] == [severity]
    assert found.lowered.total() == (severity is Severity.INFO)


@pytest.mark.parametrize(
    ("file", "severity"),
    [("web.yaml", Severity.WARNING), ("test/e2e/web.yaml", Severity.INFO), ("../web.yaml", Severity.WARNING)],
)
def test_a_file_that_is_named_itself_counts_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, severity: Severity
) -> None:
    here = tmp_path / "tests"
    path = here / file
    path.parent.mkdir(parents=True, exist_ok=True)
    here.mkdir(exist_ok=True)
    path.write_text(POD)
    monkeypatch.chdir(here)
    assert [[each.severity for each in linted([name]).found] for name in (file, str(path.resolve()))] == [
        [severity]
    ] * 2


@pytest.mark.parametrize(
    ("kustomizations", "file", "severity"),
    [
        ({"infra": "web-v1.2.3.yaml"}, "infra/web-v1.2.3.yaml", Severity.WARNING),
        ({"infra": "v1.2.3/web.yaml"}, "infra/v1.2.3/web.yaml", Severity.WARNING),
        ({"infra": "../test/base", "test/base": "web.yaml"}, "test/base/web.yaml", Severity.WARNING),
        # Kustomizations of tests and releases are not applied themselves.
        ({"test/base": "web.yaml"}, "test/base/web.yaml", Severity.INFO),
        ({"test": "base", "test/base": "web.yaml"}, "test/base/web.yaml", Severity.INFO),
        ({"e2e": "../v1.2.3/web.yaml"}, "v1.2.3/web.yaml", Severity.INFO),
        ({"v1.2.3": "../v1.2.3", "infra": "other.yaml"}, "v1.2.3/web.yaml", Severity.INFO),
    ],
)
def test_what_a_kustomization_applies_is_not_lowered(
    tmp_path: Path, kustomizations: dict[str, str], file: str, severity: Severity
) -> None:
    for folder, listed in kustomizations.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "kustomization.yaml").write_text(f"resources: [{listed}]\n")
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POD)
    assert [each.severity for each in linted([str(tmp_path)]).found] == [severity]


@pytest.mark.parametrize("named", [False, True])
def test_findings_that_are_ignored_or_have_a_severity_of_the_settings_are_not_counted_as_lowered(
    tmp_path: Path, named: bool
) -> None:
    (tmp_path / "test").mkdir()
    ignored = POD.replace("{name: web}", '{name: web, annotations: {ignore.kschedctl.io/KS119: "one node has it"}}')
    (tmp_path / "test/web.yaml").write_text(POD if named else ignored)
    settings = Settings(severity={"KS119": Severity.INFO} if named else {})
    found = linted([str(tmp_path)], settings=settings)
    assert (len(found.found), found.lowered.total()) == (int(named), 0)


def test_the_severity_of_the_settings_counts_more_than_that_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test/web.yaml").write_text(POD)
    found = linted([str(tmp_path)], settings=Settings(severity={"KS119": Severity.ERROR}))
    assert [each.severity for each in found.found] == [Severity.ERROR]
