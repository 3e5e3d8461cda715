"""The manifest for krew obeys krew's rules (``internal/index/validation`` and ``cmd/validate-krew-manifest``)."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.packaging.krew import NAME, Platform, archive_name, archives, manifest, this_platform

REPOSITORY = "https://git.example/kschedctl"
PLATFORMS = [Platform("darwin", "arm64"), Platform("linux", "amd64"), Platform("windows", "amd64")]
#: ``semver.Parse`` of krew.
VERSION = re.compile(r"v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    for of in PLATFORMS:
        (tmp_path / archive_name("0.2.0", of)).write_bytes(of.os.encode())
    (tmp_path / archive_name("0.1.0", PLATFORMS[0])).touch()
    (tmp_path / "kschedctl-0.2.0.tar.gz").touch()
    document: dict[str, Any] = yaml.safe_load(manifest("0.2.0", REPOSITORY, archives(tmp_path, "0.2.0")))
    return document


def problems(document: dict[str, Any]) -> list[str]:
    """Return the rules of krew that a manifest breaks."""
    spec = document["spec"]
    found = [
        (document["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2", "apiVersion"),
        (document["kind"] == "Plugin", "kind"),
        (re.fullmatch(r"[\w-]+", document["metadata"]["name"]), "name"),
        (spec["shortDescription"] and "\n" not in spec["shortDescription"], "shortDescription"),
        (len(spec["shortDescription"]) <= 60, "shortDescription is long"),
        (VERSION.fullmatch(spec["version"]), "version"),
        (spec["platforms"], "platforms"),
    ]
    selected = []
    for platform in spec["platforms"]:
        labels = platform["selector"]["matchLabels"]
        selected.append((labels["os"], labels["arch"]))
        found += [
            (platform["uri"], "uri"),
            (re.fullmatch(r"[a-f0-9]{64}", platform["sha256"]), "sha256"),
            (platform["bin"] and not platform["bin"].startswith(("/", "..")), "bin"),
            (labels.keys() == {"os", "arch"}, "selector"),
            ("files" not in platform or platform["files"], "files"),
        ]
    found.append((len(set(selected)) == len(selected), "overlapping selectors"))
    return [what for good, what in found if not good]


def test_it_breaks_no_rule(document: dict[str, Any]) -> None:
    assert problems(document) == []
    assert document["metadata"]["name"] == NAME
    assert document["spec"]["version"] == "v0.2.0"


def test_archives_of_other_versions_are_left_out(document: dict[str, Any]) -> None:
    shown = {
        (each["selector"]["matchLabels"]["os"], each["uri"], each["bin"], each["sha256"])
        for each in document["spec"]["platforms"]
    }
    assert shown == {
        (
            of.os,
            f"{REPOSITORY}/releases/download/v0.2.0/kubectl-ksched_0.2.0_{of.os}_{of.arch}.tar.gz",
            "kubectl-ksched.exe" if of.os == "windows" else "kubectl-ksched",
            hashlib.sha256(of.os.encode()).hexdigest(),
        )
        for of in PLATFORMS
    }


def test_a_broken_rule_is_found(document: dict[str, Any]) -> None:
    document["spec"]["platforms"][1]["sha256"] = "x"
    document["spec"]["platforms"].append(document["spec"]["platforms"][0])
    assert problems(document) == ["sha256", "overlapping selectors"]


def test_this_platform_is_one_of_krew() -> None:
    assert this_platform().os in ("linux", "darwin", "windows")
    assert this_platform().arch in ("amd64", "arm64")
