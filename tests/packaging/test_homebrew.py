"""The Homebrew formula and the manifest for krew are as those programs want them."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.utils import canonicalize_name

from tools.packaging.homebrew import Resource, check_platforms, formula, resource_of
from tools.packaging.krew import NAME, Platform, archive_name, archives, manifest, this_platform

REPOSITORY = "https://git.example/kschedctl"
PATH = f"/packages/ab/cd/{60 * 'e'}/rich-15.0.0-py3-none-any.whl"
RESOURCES = [
    Resource("numpy", "2.4.6", f"https://files.pythonhosted.org{PATH}", 64 * "0"),
    Resource("pydantic-core", "2.50.5", "https://files.pythonhosted.org/a/pydantic_core-2.50.5.tar.gz", 64 * "1"),
    Resource("rich", "15.0.0", f"https://files.pythonhosted.org{PATH}", 64 * "2"),
]
OWN = canonicalize_name("kschedctl")


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "kschedctl-0.2.0.tar.gz").write_bytes(b"sdist")
    (tmp_path / "kschedctl.1").write_bytes(b"page")
    (tmp_path / "_kschedctl").write_bytes(b"zsh")
    sdist, page, zsh = (tmp_path / name for name in ("kschedctl-0.2.0.tar.gz", "kschedctl.1", "_kschedctl"))
    return formula("0.2.0", REPOSITORY, sdist, page, zsh, RESOURCES)


def item(url: str = f"https://files.pythonhosted.org{PATH}", **hashes: str) -> dict[str, Any]:
    """Return what pip reports about a package."""
    info = {"url": url, "archive_info": {"hashes": hashes}}
    return {"metadata": {"name": "Rich", "version": "15.0.0"}, "download_info": info}


def test_it_has_the_files_of_the_release(text: str) -> None:
    for name, content in (("kschedctl-0.2.0.tar.gz", b"sdist"), ("kschedctl.1", b"page"), ("_kschedctl", b"zsh")):
        checksum = hashlib.sha256(content).hexdigest()
        assert re.search(rf'url "{REPOSITORY}/releases/download/v0.2.0/{name}"\n +sha256 "{checksum}"', text), name


def test_numpy_is_a_formula_and_rust_is_named(text: str) -> None:
    assert re.findall(r'resource "(.*)" do', text) == ["pydantic-core", "rich", "manpage", "zsh-completion"]
    needed = re.findall(r"depends_on (.*)", text)
    assert needed[:2] == ['"rust" => :build', '"numpy"']
    assert needed[2].startswith('"python@3.')


def test_ruby_reads_it(text: str, tmp_path: Path) -> None:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    (tmp_path / "kschedctl.rb").write_text(text)
    done = subprocess.run(["ruby", "-wc", str(tmp_path / "kschedctl.rb")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Syntax OK\n", "")


def test_a_mirror_is_not_named() -> None:
    found = resource_of(item(f"https://mirror.example/pypi{PATH}", sha256=64 * "a"))
    assert found == Resource("rich", "15.0.0", f"https://files.pythonhosted.org{PATH}", 64 * "a")


@pytest.mark.parametrize(
    "reported",
    [
        pytest.param(item(), id="no checksum"),
        pytest.param(item("https://host.example/rich-15.0.0-py3-none-any.whl", sha256=64 * "a"), id="another path"),
        pytest.param(item("file:///wheels/rich-15.0.0-py3-none-any.whl", sha256=64 * "a"), id="a local file"),
    ],
)
def test_a_file_that_is_not_of_the_index_is_refused(reported: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Rich 15\.0\.0: not a file of the public index"):
        resource_of(reported)


@pytest.mark.parametrize(
    ("needs", "missing"),
    [
        ({"kschedctl": ["rich>=13", "kube; extra == 'live'"]}, "kube"),
        (
            {"kschedctl": ["rich; sys_platform == 'darwin'"], "rich": ["appnope; platform_system == 'Darwin'"]},
            "appnope",
        ),
        ({"kschedctl": ["rich[jupyter]"], "rich": ["ipywidgets; extra == 'jupyter'"]}, "ipywidgets"),
        ({"kschedctl": ["rich", "colorama; os_name == 'nt'", "highspy; extra == 'optimum'"]}, ""),
    ],
    ids=["an extra of the formula", "on macOS only", "an extra of a dependency", "not needed"],
)
def test_packages_of_another_platform(needs: dict[str, list[str]], missing: str) -> None:
    listed = {canonicalize_name(name): {"metadata": {"requires_dist": needs.get(name, [])}} for name in (OWN, "rich")}
    if missing:
        with pytest.raises(ValueError, match=f"needs {missing}"):
            check_platforms(listed, OWN)
    else:
        check_platforms(listed, OWN)


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
