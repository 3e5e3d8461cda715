from pathlib import Path

import pytest

from conformance import builds
from conformance.feature_gates import TABLE, UNDECIDED, changed_defaults, with_column
from kschedctl.objects.releases.release import RELEASES

BUILD = """#!/bin/sh
mkdir -p "$2"
echo "$1" >> "$2/built"
[ ! -e "{sources}/broken.go" ] || { echo "broken.go: syntax error" >&2; exit 1; }
echo program > "$2/judge"
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources whose build is a script that takes note, and a Go that is never called."""
    folder, tools = tmp_path / "sources", tmp_path / "tools"
    for path, text in ((folder / "build.sh", BUILD.replace("{sources}", str(folder))), (tools / "go", "#!/bin/sh\n")):
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
    (folder / "main.go").write_text("package main\n")
    monkeypatch.setattr(builds, "SOURCES", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return folder


def test_a_release_is_built_once_until_its_sources_change(sources: Path, tmp_path: Path) -> None:
    program = builds.build("1.36")
    assert program == tmp_path / "cache" / "kschedctl" / "judge" / "1.36" / "judge"
    assert builds.build("1.36") == program
    built = program.with_name("built")
    assert built.read_text().split() == [builds.versions()["1.36"]]
    (sources / "main.go").write_text("package main // changed\n")
    builds.build("1.36")
    assert len(built.read_text().split()) == 2


def test_a_failed_build_says_what_the_compiler_says_and_is_tried_again(sources: Path) -> None:
    (sources / "broken.go").touch()
    for _ in range(2):
        with pytest.raises(builds.BuildError, match=r"Kubernetes 1\.36\.3 cannot be built:\nbroken.go: syntax error"):
            builds.build("1.36")


def test_without_go_it_is_said_what_is_needed(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(sources))
    with pytest.raises(builds.BuildError, match="needs Go"):
        builds.build("1.36")


def test_a_release_without_a_version_is_refused() -> None:
    with pytest.raises(builds.BuildError, match=r"no version of release 1\.2 .* there are 1\.33, "):
        builds.build("1.2")


def test_every_release_that_we_have_rules_of_has_a_version() -> None:
    versions = builds.versions()
    assert set(RELEASES) <= set(versions)
    assert all(version.startswith(f"{release}.") for release, version in versions.items())


def test_no_go_module_is_kept_beside_the_sources() -> None:
    kept = {path.name for path in builds.SOURCES.iterdir()}
    assert {name for name in kept if not name.endswith(".go")} == {"build.sh", "module.sh"}


def test_what_moved_between_releases_has_both_sides() -> None:
    """A file for later releases has one for earlier ones, under the opposite build tag."""
    tags = {path.name: path.read_text().partition("\n")[0] for path in builds.SOURCES.glob("*_*_1_*.go")}
    since = {tag.removeprefix("//go:build ") for name, tag in tags.items() if "_since_" in name}
    upto = {tag.removeprefix("//go:build !") for name, tag in tags.items() if "_upto_" in name}
    assert since
    assert since == upto


HAD = """\
gate  decides  1.9
Old   yes      on!
Same  -        off
"""


def test_a_column_stands_in_the_order_of_releases_and_names_what_is_new() -> None:
    named = {"New": ["pkg/scheduler/a.go"], "Old": ["pkg/scheduler/b.go"]}
    assert with_column(HAD, "1.10", {"Same": "on", "New": "off", "Other": "off"}, named).splitlines() == [
        "gate   decides  1.9  1.10",
        "New    ?        .    off",
        "Old    yes      on!  .",
        "Other  -        .    off",
        "Same   -        off  on",
    ]


def test_a_column_that_is_there_is_written_anew() -> None:
    assert with_column(HAD, "1.9", {"Old": "on!", "Same": "off"}, {}) == HAD
    assert "Old   yes      ." in with_column(HAD, "1.9", {"Same": "off"}, {})


def test_changed_defaults_are_those_of_gates_that_decide() -> None:
    made = with_column(HAD, "1.10", {"Old": "off", "Same": "on"}, {})
    assert changed_defaults(made, "1.10") == ["Old (on! in 1.9, off in 1.10)"]
    text = "StorageCapacityScoring (off in 1.36, on in 1.37)"
    assert text in changed_defaults(TABLE.read_text(), "1.37")


def test_of_every_gate_somebody_has_said_whether_it_decides_anything() -> None:
    assert UNDECIDED not in {line.split()[1] for line in TABLE.read_text().splitlines()}
