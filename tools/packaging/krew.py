"""The manifest of the kubectl plugin for krew, and the names of the archives that it installs."""

import hashlib
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

NAME: Final = "ksched"
PROGRAM: Final = f"kubectl-{NAME}"
#: Names of systems and processors in Python, and in Go and krew.
_SYSTEMS: Final = {"linux": "linux", "darwin": "darwin", "win32": "windows"}
_PROCESSORS: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_ARCHIVE: Final = re.compile(rf"{PROGRAM}_(?P<version>.+)_(?P<os>linux|darwin|windows)_(?P<arch>amd64|arm64)\.tar\.gz")
_DESCRIPTION: Final = """\
Explains why a pod is pending, and what kube-scheduler would do with it.

The plugin runs the algorithm of kube-scheduler over the cluster of the
current context, or over a snapshot of it, and reports per node what every
plugin answered, which pods would be evicted, and which changes would make
the pod fit. It reads from the cluster; only "watch --events" and leader
election write to it, Events and a Lease.
"""
_CAVEATS: Final = """\
Completion of "kubectl ksched": krew links only the plugin itself, so link
the program that kubectl calls for it:

    ln -s kubectl-ksched "${KREW_ROOT:-$HOME/.krew}/bin/kubectl_complete-ksched"

The plugin has no solver ("kubectl ksched optimum") and no Dask;
"pip install 'kschedctl[all]'" installs them, and plugins of your own.
"""


class Platform(NamedTuple):
    """A platform of krew, such as ``linux`` and ``amd64``."""

    os: str
    arch: str

    @property
    def program(self) -> str:
        """The file name of the program."""
        return f"{PROGRAM}.exe" if self.os == "windows" else PROGRAM


def this_platform() -> Platform:
    """Return the platform of this machine."""
    return Platform(_SYSTEMS[sys.platform], _PROCESSORS[platform.machine().lower()])


def archive_name(version: str, of: Platform) -> str:
    """Return the file name of an archive."""
    return f"{PROGRAM}_{version}_{of.os}_{of.arch}.tar.gz"


def archives(folder: Path, version: str) -> dict[Platform, Path]:
    """Return the archives of a version in a folder."""
    named = ((path, _ARCHIVE.fullmatch(path.name)) for path in sorted(folder.iterdir()))
    return {
        Platform(found["os"], found["arch"]): path for path, found in named if found and found["version"] == version
    }


def manifest(version: str, repository: str, found: dict[Platform, Path]) -> str:
    """Return the manifest.

    Parameters
    ----------
    version : str
        The version of the release.
    repository : str
        The URL of the repository, whose releases have the archives.
    found : dict of Platform to Path
        The archives.
    """
    document = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{version}",
            "homepage": repository,
            "shortDescription": "Explain why pods are pending, as kube-scheduler decides",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": list(_platforms(version, repository, found)),
        },
    }
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120)


def _platforms(version: str, repository: str, found: dict[Platform, Path]) -> Iterator[dict[str, Any]]:
    for of, path in found.items():
        yield {
            "selector": {"matchLabels": {"os": of.os, "arch": of.arch}},
            "uri": f"{repository}/releases/download/v{version}/{path.name}",
            "sha256": sha256(path),
            "bin": of.program,
        }


def sha256(path: Path) -> str:
    """Return the checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
