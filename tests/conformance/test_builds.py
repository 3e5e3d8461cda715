from pathlib import Path

import pytest

from conformance import builds
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
    assert {name for name in kept if not name.endswith(".go")} == {"build.sh"}


def test_what_moved_between_releases_has_both_sides() -> None:
    """A file for later releases has one for earlier ones, under the opposite build tag."""
    tags = {path.name: path.read_text().partition("\n")[0] for path in builds.SOURCES.glob("*_*_1_*.go")}
    since = {tag.removeprefix("//go:build ") for name, tag in tags.items() if "_since_" in name}
    upto = {tag.removeprefix("//go:build !") for name, tag in tags.items() if "_upto_" in name}
    assert since
    assert since == upto
