"""The files of ``make packaging``, which runs these tests: krew installs the plugin, the formula is complete.

``DIST`` and ``VERSION`` name the folder and version of a release. Without them the tests are skipped.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.paths import ROOT
from tools.packaging.completions import FILES
from tools.packaging.homebrew import EXTRAS
from tools.packaging.krew import archive_name, archives, sha256, this_platform

pytestmark = pytest.mark.slow

KREW = "v0.4.3"
SHOP = str(ROOT / "fixtures" / "shop" / "cluster")
VERSION = os.environ.get("VERSION", "")


@pytest.fixture(scope="module")
def dist() -> Path:
    """Return the folder of the release."""
    folder = os.environ.get("DIST")
    if not (folder and VERSION):
        pytest.skip("DIST and VERSION name no release; make packaging sets them")
    return Path(folder).resolve()


@pytest.fixture(scope="module")
def plugin(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program of the unpacked archive, through a link as krew makes it."""
    folder = tmp_path_factory.mktemp("plugin")
    with tarfile.open(archives(dist, VERSION)[this_platform()]) as packed:
        assert all(member.isreg() or member.isdir() for member in packed), "krew unpacks files and folders only"
        packed.extractall(folder / "store", filter="data")
    (folder / "bin").mkdir()
    for name in ("kubectl-ksched", "kubectl_complete-ksched"):
        (folder / "bin" / name).symlink_to(folder / "store" / this_platform().program)
    return folder / "bin" / "kubectl-ksched"


def run(program: Path, *words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without this Python's environment."""
    own = {"PATH": "/usr/bin:/bin", "HOME": str(program.parent), **environment}
    return subprocess.run(
        [str(program), *words], env=own, input=given, capture_output=True, text=True, check=False, timeout=300
    )


def test_all_files_are_written(dist: Path) -> None:
    made = {"kschedctl.1", "kschedctl.rb", "ksched.yaml", *FILES.values(), archive_name(VERSION, this_platform())}
    assert made <= {path.name for path in dist.iterdir()}
    assert f"kschedctl {VERSION}" in (dist / "kschedctl.1").read_text()


def test_the_plugin_explains_without_python(plugin: Path) -> None:
    assert run(plugin, "--version").stdout == f"kschedctl {VERSION}\n"
    done = run(plugin, "explain", "shop/web-7", "--snapshot", SHOP, "-o", "json")
    assert done.returncode == 0, done.stderr
    here = [sys.executable, "-m", "kschedctl", "explain", "shop/web-7", "--snapshot", SHOP, "-o", "json"]
    installed = subprocess.run(here, capture_output=True, text=True, check=True)
    ours, expected = json.loads(done.stdout), json.loads(installed.stdout)
    assert (ours["verdict"], ours["nodes"], ours["scores"]) == (
        expected["verdict"],
        expected["nodes"],
        expected["scores"],
    )
    assert "pip install 'kschedctl[optimum]'" in run(plugin, "optimum", "--snapshot", SHOP).stderr


def test_parts_of_the_plugin_that_call_python(plugin: Path) -> None:
    offered = run(plugin.with_name("kubectl_complete-ksched"), "explain", "shop/web-7", KSCHEDCTL_SNAPSHOT=SHOP)
    assert offered.stdout == "shop/web-7\n:0\n"
    # Processes of multiprocessing, and the guard of the command that runs while leading, which is a file.
    case = {"id": "a", "objects": [], "pod": {"metadata": {"name": "web"}, "spec": {"containers": []}}}
    cases = "".join(f"{json.dumps({**case, 'id': str(i)})}\n" for i in range(200))
    decided = run(plugin, "batch", "-", "--jobs", "2", given=cases)
    assert (decided.returncode, decided.stdout.count("\n")) == (0, 200), decided.stderr
    guard = next((plugin.parents[1] / "store").rglob("leaderelection/running/guard.py"))
    orders, ours = os.pipe()
    ours_reports, reports = os.pipe()
    words = ["-I", "-S", str(guard), str(orders), str(reports), "1", "true"]
    process = subprocess.Popen([str(plugin), *words], pass_fds=[orders, reports], env={"PATH": "/usr/bin:/bin"})
    os.write(ours, f"until {time.monotonic() + 60}\n".encode())
    assert os.read(ours_reports, 100).startswith(b"started ")
    os.write(ours, b"done\n")
    assert process.wait(timeout=60) == 0
    for descriptor in (orders, ours, ours_reports, reports):
        os.close(descriptor)


def test_krew_accepts_and_installs_it(dist: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("go, which builds krew, is not installed")
    environment = {**os.environ, "GOBIN": str(tmp_path)}
    for program in ("validate-krew-manifest", "krew"):
        words = ["go", "install", f"sigs.k8s.io/krew/cmd/{program}@{KREW}"]
        subprocess.run(words, env=environment, check=True, capture_output=True)
    manifest = dist / "ksched.yaml"
    words = [str(tmp_path / "validate-krew-manifest"), "-manifest", str(manifest), "-skip-install"]
    validated = subprocess.run(words, capture_output=True, text=True, check=False)
    assert validated.returncode == 0, validated.stderr
    archive = archives(dist, VERSION)[this_platform()]
    words = [str(tmp_path / "krew"), "install", f"--manifest={manifest}", f"--archive={archive}"]
    environment["KREW_ROOT"] = str(tmp_path / "root")
    installed = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    assert run(tmp_path / "root" / "bin" / "kubectl-ksched", "--version").stdout == f"kschedctl {VERSION}\n"
    assert list((tmp_path / "root" / "store" / "ksched").glob("*/LICENSE"))
    checksums = {each["sha256"] for each in yaml.safe_load(manifest.read_text())["spec"]["platforms"]}
    assert checksums == {sha256(path) for path in archives(dist, VERSION).values()}


def test_the_formula_has_every_dependency(dist: Path) -> None:
    """The dependencies are those that pip installs beside the wheel, without NumPy, which is a formula."""
    text = (dist / "kschedctl.rb").read_text()
    found = dict(re.findall(r'resource "(.*)" do\n +url "(.*)"\n +sha256 "[0-9a-f]{64}"\n  end', text))
    assert len(found) == text.count('resource "')
    for own in ("manpage", "zsh-completion"):
        del found[own]
    assert all(url.startswith("https://files.pythonhosted.org/packages/") for url in found.values())
    wheel = f"{dist / f'kschedctl-{VERSION}-py3-none-any.whl'}[{','.join(EXTRAS)}]"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report=-", wheel]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    names = {canonicalize_name(each["metadata"]["name"]) for each in json.loads(done.stdout)["install"]}
    assert names - {"kschedctl", "numpy"} == found.keys()
