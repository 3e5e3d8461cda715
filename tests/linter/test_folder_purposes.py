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
        # An environment named test.
        ("overlays/test/web.yaml", None),
        ("clusters/test/apps/web.yaml", None),
        ("install/v0.3.0/web.yaml", (RELEASES, "install", "install/v[0-9]*")),
        ("install/v0.4.0-rc1/crds/web.yaml", (RELEASES, "install", "install/v[0-9]*")),
        ("install/0.1.0/web.yaml", (RELEASES, "install", "install/[0-9]*")),
        ("release-1.27/web.yaml", (RELEASES, ".", "release-[0-9]*")),
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
        ("test/web.yaml", "test/web.yaml", Severity.WARNING),
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


def test_the_severity_of_the_settings_counts_more_than_that_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test/web.yaml").write_text(POD)
    found = linted([str(tmp_path)], settings=Settings(severity={"KS119": Severity.ERROR}))
    assert [each.severity for each in found.found] == [Severity.ERROR]
