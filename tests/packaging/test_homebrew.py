"""The Homebrew formula: Ruby reads it, and it has a file of the public index per dependency."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tools.packaging.homebrew import Resource, check_platforms, formula, resource_of

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
