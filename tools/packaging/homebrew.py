"""The Homebrew formula: the sdist of the release, and a resource with its checksum per package that it depends on.

pip resolves the dependencies with the index that it is set up for, under the Python that runs this, which is the
formula's. Pure packages are resources as wheels, the others as sdists, which Homebrew compiles.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from tools.packaging.krew import sha256

EXTRAS: Final = ("live", "watch", "web")
#: Formulae of Homebrew that are used instead of a resource: NumPy takes half an hour to compile.
_FORMULAE: Final = ("numpy",)
#: Packages whose sdists need more than a C compiler.
_BUILT_WITH: Final = {"pydantic-core": 'depends_on "rust" => :build', "pyyaml": 'depends_on "libyaml"'}
#: The files of the public index are found by their checksum, in mirrors too.
_CANONICAL: Final = "https://files.pythonhosted.org"
_PATH: Final = re.compile(r"/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[^/]+$")
_PURE: Final = re.compile(r"[.-]py3-none-any\.whl$")
_PLATFORMS: Final = (
    {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix"},
    {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"},
)


class Resource(NamedTuple):
    """A file of the package index."""

    name: str
    version: str
    url: str
    sha256: str


def formula(
    version: str, repository: str, sdist: Path, man_page: Path, zsh: Path, resources: Iterable[Resource]
) -> str:
    """Return the formula.

    Parameters
    ----------
    version : str
        The version of the release.
    repository : str
        The URL of the repository, whose releases have the following files.
    sdist, man_page, zsh : Path
        The sdist, the manual page and the completion file for zsh, whose checksums the formula has.
    resources : iterable of Resource
        The packages that the program depends on.
    """
    files = f"{repository}/releases/download/v{version}"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    named = [each for each in resources if each.name not in _FORMULAE]
    needed = [line for name, line in _BUILT_WITH.items() if name in {each.name for each in named}]
    needed += [f'depends_on "{name}"' for name in (*_FORMULAE, f"python@{python}")]
    lines = [
        "class Kschedctl < Formula",
        "  include Language::Python::Virtualenv",
        "",
        '  desc "Explain what kube-scheduler would do with a pod, offline and exactly"',
        f'  homepage "{repository}"',
        f'  url "{files}/{sdist.name}"',
        f'  sha256 "{sha256(sdist)}"',
        '  license "Apache-2.0"',
        "",
        # As brew style orders them: what is needed to build comes first.
        *sorted((f"  {line}" for line in needed), key=lambda line: (":build" not in line, line)),
    ]
    for each in named:
        lines += ["", *_resource(each.name, each.url, each.sha256)]
    for name, path in (("manpage", man_page), ("zsh-completion", zsh)):
        lines += ["", *_resource(name, f"{files}/{path.name}", sha256(path))]
    lines += ["", *_INSTALL.splitlines()]
    return "\n".join(lines) + "\n"


_INSTALL: Final = """\
  def install
    virtualenv_install_with_resources without: ["manpage", "zsh-completion"]
    resource("manpage").stage { man1.install "kschedctl.1" }
    # What the command prints for zsh has to be sourced; this file is for site-functions.
    resource("zsh-completion").stage { zsh_completion.install "_kschedctl" }
    generate_completions_from_executable(bin/"kschedctl", shell_parameter_format: :typer, shells: [:bash, :fish, :pwsh])
  end

  test do
    (testpath/"cluster.yaml").write <<~YAML
      apiVersion: v1
      kind: Node
      metadata: {name: node-1}
      status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
    YAML
    (testpath/"pod.yaml").write <<~YAML
      apiVersion: v1
      kind: Pod
      metadata: {name: web}
      spec: {containers: [{name: web, image: nginx, resources: {requests: {cpu: "1"}}}]}
    YAML
    assert_match "node-1", shell_output("#{bin}/kschedctl explain -f pod.yaml --snapshot cluster.yaml -o name")
    assert_match version.to_s, shell_output("#{bin}/kubectl-ksched --version")
  end
end"""


def _resource(name: str, url: str, checksum: str) -> Iterator[str]:
    yield from (f'  resource "{name}" do', f'    url "{url}"', f'    sha256 "{checksum}"', "  end")


def resolve(wheel: Path) -> list[Resource]:
    """Return all packages that the wheel with the extras of the formula depends on, by name.

    Raises
    ------
    ValueError
        If pip reports no checksum or no file of the public index, or if a platform needs a package that this one does
        not.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wheel.txt").write_text(f"{wheel.resolve()}[{','.join(EXTRAS)}]\n")
        items = _report(Path(folder) / "wheel.txt", "--ignore-installed")
        found = {canonicalize_name(item["metadata"]["name"]): item for item in items}
        own = canonicalize_name("kschedctl")
        check_platforms(found, own)
        del found[own]
        resources = {
            name: resource_of(item) for name, item in found.items() if _PURE.search(item["download_info"]["url"])
        }
        # NumPy's sdist is not used.
        compiled = [name for name in found if name not in resources and name not in _FORMULAE]
        pinned = "".join(f"{name}=={found[name]['metadata']['version']}\n" for name in compiled)
        (Path(folder) / "compiled.txt").write_text(pinned)
        # By name: of all packages, that would compile what the sdists are built with, too.
        only_sdists = f"--no-binary={','.join(compiled)}"
        items = _report(Path(folder) / "compiled.txt", "--ignore-installed", "--no-deps", only_sdists)
        resources |= {canonicalize_name(item["metadata"]["name"]): resource_of(item) for item in items}
    return [resources[name] for name in sorted(resources)]


def _report(requirements: Path, *options: str) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report=-", *options]
    words += ["-r", str(requirements)]
    items: list[dict[str, Any]] = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)[
        "install"
    ]
    return items


def resource_of(item: Mapping[str, Any]) -> Resource:
    info, metadata = item["download_info"], item["metadata"]
    path = urlsplit(info["url"]).path
    checksum = info.get("archive_info", {}).get("hashes", {}).get("sha256", "")
    found = _PATH.search(path)
    if not checksum or not found:
        raise ValueError(f"{metadata['name']} {metadata['version']}: not a file of the public index with its checksum")
    name = canonicalize_name(metadata["name"])
    return Resource(name, metadata["version"], f"{_CANONICAL}{found[0]}", checksum)


def check_platforms(found: Mapping[NormalizedName, Mapping[str, Any]], own: NormalizedName) -> None:
    """Check that pip on another platform would find the same packages."""
    for platform in _PLATFORMS:
        reached: set[tuple[NormalizedName, str]] = set()
        open_ = [(own, extra) for extra in ("", *EXTRAS)]
        while open_:
            name, extra = each = open_.pop()
            if each in reached:
                continue
            reached.add(each)
            if name not in found:
                raise ValueError(f"{platform['sys_platform']} needs {name}, which was not resolved on this platform")
            environment: dict[str, Any] = {**default_environment(), **platform, "extra": extra}
            for text in found[name]["metadata"].get("requires_dist", ()):
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate(environment):
                    open_ += [(canonicalize_name(needed.name), wanted) for wanted in ("", *needed.extras)]
