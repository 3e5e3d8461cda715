"""Builds the container image of ``deploy/Dockerfile`` and runs it: ``make container``.

Docker, Podman or Buildah builds the image, whichever works on this machine. The image must run as the user of the
Dockerfile, without rights, on a read-only root file system; what it prints is compared with what is expected.

Where no registry can be reached, ``--base debian`` replaces the base image by Debian's own Python in a system that
``debootstrap`` makes from packages. Such an image is a test of the Dockerfile, not one to publish.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
DOCKERFILE: Final = ROOT / "deploy" / "Dockerfile"
USER: Final = "65532:65532"
#: The value of ``--base`` for the base image that is made here.
DEBIAN: Final = "debian"
_STAND_IN: Final = "localhost/kschedctl-base:debian"
_PACKAGES: Final = ("ca-certificates", "python3", "python3-pip", "python3-venv")
#: The certificates that this machine trusts: its way to the package index may need one of its own.
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_NOBODY_LISTENS: Final = "https://127.0.0.1:1"
_MIB: Final = 2**20


class CannotBuildError(Exception):
    """The reason why no image can be built on this machine."""


class Ran(NamedTuple):
    """The exit code of a container and all that it printed."""

    code: int
    text: str


class Builder(ABC):
    """A program that builds and runs images."""

    @abstractmethod
    def build(self, arguments: Mapping[str, str], tag: str) -> None:
        """Build the image with these build arguments."""

    @abstractmethod
    def import_base(self, archive: Path) -> None:
        """Make the stand-in for the base image from the root file system in an archive."""

    @abstractmethod
    def inspect(self, tag: str) -> Mapping[str, Any]:
        """Return the configuration of an image: ``User``, ``Entrypoint``, ``Env``, ``Labels``."""

    @abstractmethod
    def size(self, tag: str) -> int:
        """Return the bytes of all layers, unpacked."""

    @abstractmethod
    def run(
        self,
        tag: str,
        *arguments: str,
        entrypoint: Sequence[str] | None = None,
        mounts: Mapping[Path, str] | None = None,
    ) -> Ran:
        """Run a container on a read-only root file system, with the network of the host and a temporary ``/tmp``.

        Parameters
        ----------
        tag : str
            The image.
        *arguments : str
            The arguments of the entry point.
        entrypoint : sequence of str, optional
            The entry point; by default the image's.
        mounts : mapping of Path to str, optional
            Folders of the host, and where they are mounted, read-only.
        """


class Docker(Builder):
    """Docker, or Podman, which takes the same commands."""

    def __init__(self, program: str) -> None:
        self._program = program

    def build(self, arguments: Mapping[str, str], tag: str) -> None:
        _run([self._program, "build", "-f", str(DOCKERFILE), *_build_arguments(arguments), "-t", tag, str(ROOT)])

    def import_base(self, archive: Path) -> None:
        _run([self._program, "import", "--change", f"ENV PIP_CERT={_CERTIFICATES}", str(archive), _STAND_IN])

    def inspect(self, tag: str) -> Mapping[str, Any]:
        config: Mapping[str, Any] = self._image(tag)["Config"]
        return config

    def size(self, tag: str) -> int:
        return int(self._image(tag)["Size"])

    def run(
        self,
        tag: str,
        *arguments: str,
        entrypoint: Sequence[str] | None = None,
        mounts: Mapping[Path, str] | None = None,
    ) -> Ran:
        options = ["--rm", "--read-only", "--tmpfs", "/tmp", "--network", "host", "--cap-drop", "ALL"]
        for source, target in (mounts or {}).items():
            options += ["--volume", f"{source}:{target}:ro"]
        program, *first = entrypoint or self.inspect(tag)["Entrypoint"]
        return _ran([self._program, "run", *options, "--entrypoint", program, tag, *first, *arguments])

    def _image(self, tag: str) -> Mapping[str, Any]:
        (found,) = json.loads(_run([self._program, "image", "inspect", tag]))
        image: Mapping[str, Any] = found
        return image


class Buildah(Builder):
    """Buildah, which needs neither a daemon nor namespaces; the container is run here, because its own is writable."""

    def __init__(self) -> None:
        # Works without namespaces too; the environment can name another.
        os.environ.setdefault("BUILDAH_ISOLATION", "chroot")

    def build(self, arguments: Mapping[str, str], tag: str) -> None:
        files = ["-f", str(DOCKERFILE), "--ignorefile", f"{DOCKERFILE}.dockerignore"]
        _run(["buildah", "build", "--layers", *files, *_build_arguments(arguments), "-t", tag, str(ROOT)])

    def import_base(self, archive: Path) -> None:
        container = _run(["buildah", "from", "scratch"]).strip()
        try:
            _run(["buildah", "add", container, str(archive), "/"])
            _run(["buildah", "config", "--env", f"PIP_CERT={_CERTIFICATES}", container])
            _run(["buildah", "commit", container, _STAND_IN])
        finally:
            _run(["buildah", "rm", container])

    def inspect(self, tag: str) -> Mapping[str, Any]:
        config: Mapping[str, Any] = json.loads(_run(["buildah", "inspect", "--type", "image", tag]))["OCIv1"]["config"]
        return config

    def size(self, tag: str) -> int:
        container = _run(["buildah", "from", "--pull-never", tag]).strip()
        try:
            root = _run(["buildah", "mount", container]).strip()
            return int(_run(["du", "--summarize", "--bytes", "--one-file-system", root]).split()[0])
        finally:
            _run(["buildah", "rm", container])

    def run(
        self,
        tag: str,
        *arguments: str,
        entrypoint: Sequence[str] | None = None,
        mounts: Mapping[Path, str] | None = None,
    ) -> Ran:
        config = self.inspect(tag)
        container = _run(["buildah", "from", "--pull-never", tag]).strip()
        try:
            root = Path(_run(["buildah", "mount", container]).strip())
            words = ["mount --bind $ROOT $ROOT", "mount -t proc proc $ROOT/proc", "mount -t tmpfs tmpfs $ROOT/tmp"]
            words += ["mount --rbind /dev $ROOT/dev", "cp /etc/resolv.conf /etc/hosts $ROOT/etc"]
            folder = config.get("WorkingDir") or "/"
            # As the container runtimes do it.
            for target in (folder, *(mounts or {}).values()):
                Path(f"{root}{target}").mkdir(parents=True, exist_ok=True)
            for source, target in (mounts or {}).items():
                words += [f"mount --bind '{source}' $ROOT{target}", f"mount -o remount,ro,bind $ROOT{target}"]
            words += ["chmod 1777 $ROOT/tmp", "mount -o remount,ro,bind $ROOT"]
            words += ['exec chroot $ROOT "$@"']
            user, _, group = config["User"].partition(":")
            command = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
            command += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
            command += ["env", "-i", f"--chdir={folder}", *config["Env"], "HOME=/"]
            command += [*(entrypoint or config["Entrypoint"]), *arguments]
            unshare = ["unshare", "--mount", "sh", "-euc", "\n".join(words), "sh"]
            return _ran([*unshare, *command], ROOT=str(root))
        finally:
            _run(["buildah", "rm", container])


def builder() -> Builder:
    """Return a builder that works on this machine.

    Raises
    ------
    CannotBuildError
        If there is none.
    """
    reasons = []
    for program in ("docker", "podman"):
        if shutil.which(program) is None:
            reasons.append(f"{program} is not installed")
        elif (done := _ran([program, "info"])).code == 0:
            return Docker(program)
        else:
            reasons.append(f"{program}: {done.text.splitlines()[-1]}")
    if shutil.which("buildah") is None:
        reasons.append("buildah is not installed")
    elif os.getuid() != 0:
        reasons.append("buildah: the image is run in a chroot, which needs root")
    else:
        return Buildah()
    raise CannotBuildError("; ".join(reasons))


def debian_base(found: Builder) -> str:
    """Make the stand-in for the base image from Debian's packages, and return its name.

    Raises
    ------
    CannotBuildError
        If ``debootstrap`` is not installed or not allowed.
    """
    # The same image each time: its layers are cached.
    with suppress(CannotBuildError):
        found.inspect(_STAND_IN)
        return _STAND_IN
    if shutil.which("debootstrap") is None or os.getuid() != 0:
        raise CannotBuildError("a base image of Debian's packages needs debootstrap and root")
    archive = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kschedctl" / "container-base-trixie.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            _run(["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", "trixie", str(root)])
            # The base image has no python3 from Debian, and allows pip to install.
            (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
            for marker in (root / "usr/lib").glob("python3*/EXTERNALLY-MANAGED"):
                marker.unlink()
            if _CERTIFICATES.exists():
                shutil.copy(_CERTIFICATES, f"{root}{_CERTIFICATES}")
            packed = Path(folder) / "root.tar"
            left_out = [f"--exclude=./{path}/*" for path in ("var/cache/apt", "var/lib/apt/lists", "proc", "dev")]
            _run(["tar", "-C", str(root), *left_out, "-cf", str(packed), "."])
            shutil.move(packed, archive)
    found.import_base(archive)
    return _STAND_IN


def build_image(found: Builder, tag: str, number: str, base: str = "", **labels: str) -> None:
    """Build the image of a version.

    Raises
    ------
    CannotBuildError
        If the base image cannot be pulled or made, or if a step fails.
    """
    arguments = {"VERSION": number, **labels}
    if base:
        arguments["BASE"] = debian_base(found) if base == DEBIAN else base
    found.build(arguments, tag)


def check(found: Builder, tag: str, number: str) -> None:
    """Run the image, and compare what it does with what it should do.

    Raises
    ------
    AssertionError
        If something differs.
    """
    config = found.inspect(tag)
    assert config["User"] == USER, config["User"]
    assert config["Entrypoint"] == ["kschedctl"], config["Entrypoint"]
    assert config["Labels"]["org.opencontainers.image.version"] == number, config["Labels"]
    shop = {ROOT / "fixtures" / "shop": "/work"}
    expect(found.run(tag, "--version"), 0, f"kschedctl {number}\n")
    expect(found.run(tag, "id", entrypoint=["/usr/bin/env"]), 0, "uid=65532 gid=65532")
    for folder in ("/", "/opt/kschedctl", "/work"):
        expect(found.run(tag, f"{folder}/new", entrypoint=["/usr/bin/touch"]), 1, "Read-only file system")
    expect(found.run(tag, "explain", "shop/web-7", "--snapshot", "cluster", mounts=shop), 0, "shop/web-7 fits on ")
    expect(found.run(tag, "snapshot", "info", "cluster", mounts=shop), 0, "77")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "kubeconfig").write_text(kubeconfig(_NOBODY_LISTENS))
        for command in (["snapshot", "-o", "/tmp/cluster.tar.gz"], ["watch", "--metrics=:0"], ["serve"]):
            words = [command[0], "--help"]
            expect(found.run(tag, *words), 0, f"Usage: kschedctl {command[0]} ")
            words = [*command, "--kubeconfig", "/work/kubeconfig"]
            expect(found.run(tag, *words, mounts={Path(folder): "/work"}), 3, "127.0.0.1:1")


def kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": server}}],
            "users": [{"name": "test", "user": {"token": "test"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
    )


def expect(ran: Ran, code: int, text: str) -> None:
    """Compare the exit code of a container, and find a text in what it printed.

    Raises
    ------
    AssertionError
        If they differ.
    """
    assert ran.code == code, f"exit code {ran.code} instead of {code}:\n{ran.text}"
    assert text in ran.text, f"{text!r} is missing:\n{ran.text}"


def _build_arguments(arguments: Mapping[str, str]) -> list[str]:
    return [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]


def _run(words: Sequence[str]) -> str:
    """Run a program, and return its standard output; its standard error is shown if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuildError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _ran(words: Sequence[str], **environment: str) -> Ran:
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )
    return Ran(done.returncode, done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and check the image; return 1 if that is not possible."""
    parser = argparse.ArgumentParser(prog="make container", description=__doc__)
    parser.add_argument("--version", default=version("kschedctl"), help="of the program; default: the installed one")
    parser.add_argument("--image", default="", help="name of the image; default: kschedctl:VERSION")
    parser.add_argument("--base", default="", help=f"another base image; {DEBIAN}: made here from Debian's packages")
    parser.add_argument("--source", default="", help="URL of the repository, for a label")
    parser.add_argument("--revision", default="", help="commit, for a label")
    given = parser.parse_args(arguments)
    tag = given.image or f"localhost/kschedctl:{given.version.replace('+', '-')}"
    try:
        found = builder()
        build_image(found, tag, given.version, given.base, SOURCE=given.source, REVISION=given.revision)
    except CannotBuildError as reason:
        print(f"No image was built. {reason}", file=sys.stderr)
        return 1
    check(found, tag, given.version)
    print(f"{tag}: {found.size(tag) / _MIB:.0f} MiB, user {USER}, checked on a read-only root file system")
    return 0


if __name__ == "__main__":
    sys.exit(main())
