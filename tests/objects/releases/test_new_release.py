"""Every list with entries per release has one for each release; a failure names the step of docs/new-release.md.

All other lists of releases are made from ``RELEASES`` and from ``conformance/releases.toml``.
"""

import pytest

from conformance import recordings
from conformance.builds import versions
from conformance.generate.groups_parts import APIS, TREES
from kschedctl.linter.rules.api_versions import ALL, GONE, NEW
from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.objects.schema.schema import field_names
from tests.objects.validation.groups import GATES, GROUP_BASES
from tests.paths import ROOT
from tools.field_names import read_versions

OLDEST = next(iter(RELEASES))
WITH_GROUPS = [version for version, release in RELEASES.items() if release.pod_group_rules is not None]


def minor(version: str) -> int:
    return int(version.split(".")[1])


@pytest.mark.parametrize("version", RELEASES)
def test_step_1_releases_toml_names_a_version(version: str) -> None:
    assert versions()[version].startswith(f"{version}.")


@pytest.mark.parametrize("version", RELEASES)
def test_step_4_the_table_of_feature_gates_has_a_column(version: str) -> None:
    assert known_gates(version), "python -m conformance gates VERSION"


def test_step_5_the_releases_are_in_their_order() -> None:
    assert [*RELEASES] == sorted(RELEASES, key=minor)
    assert LATEST is [release for version, release in RELEASES.items() if "-" not in versions()[version]][-1]


def test_step_6_the_fields_of_the_api_are_those_of_all_releases() -> None:
    assert [*field_names().releases] == read_versions(), "python -m tools.field_names"


@pytest.mark.parametrize("version", field_names().added)
def test_step_6_lint_knows_the_kinds_that_a_release_adds(version: str) -> None:
    kinds = [name for name in field_names().added[version] if "/" in name]
    known = [f"{api}/{kind}" for api, new in NEW.items() for kind, (since, _) in new.items() if since == minor(version)]
    assert sorted(known) == sorted(kinds), "NEW in kschedctl/linter/rules/api_versions.py"


@pytest.mark.parametrize("version", field_names().removed)
def test_step_6_lint_knows_the_kinds_that_a_release_no_longer_serves(version: str) -> None:
    for name in field_names().removed[version]:
        api, _, kind = name.rpartition("/")
        gone = GONE.get(api, {})
        since, _ = gone.get(kind, gone.get(ALL, (0, "")))
        assert since == minor(version), f"GONE in kschedctl/linter/rules/api_versions.py lacks {name}"


@pytest.mark.parametrize("version", WITH_GROUPS)
def test_step_6_the_api_of_pod_groups_is_named(version: str) -> None:
    served = {f"scheduling.k8s.io/{name}" for name in RELEASES[version].validation.pod_group_versions}
    assert APIS[version].version in served, "conformance/generate/groups_parts.py"
    assert version in GATES, "tests/objects/validation/groups.py"
    assert version in GROUP_BASES, "tests/objects/validation/groups.py"


@pytest.mark.parametrize("version", RELEASES)
def test_step_3_every_theme_is_recorded(version: str) -> None:
    lacking = [theme for theme in recordings.themes(version) if not recordings.has_answers(theme, version)]
    assert lacking == [], f"python -m conformance record --release {version}"


@pytest.mark.parametrize("version", [version for version in RELEASES if version != "1.33"])
def test_step_7_sequences_are_recorded(version: str) -> None:
    expected = ["sequence", *(["groups"] if version in WITH_GROUPS else []), *(["trees"] if version in TREES else [])]
    assert recordings.sequence_themes(version) == expected


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/adr/0003-kubernetes-releases.md"])
def test_step_9_pages_name_the_range_of_releases(page: str) -> None:
    assert f"{OLDEST} to {[*RELEASES][-1]}" in (ROOT / page).read_text()
