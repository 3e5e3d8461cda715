"""Install packages into clean environments and run them: ``python -m tools.try_package FILE... [--extras all]``.

The command line must print the version of the file's name, and the first command of README must answer, away from the
source tree. Needs nothing but Python, so that it runs on every system that the package is for.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The beginning of the answer to README's first command.
ANSWER = "shop/web-7 fits on 5 of 15 nodes"


def version_of(package: Path) -> str:
    """Return the version in the name of a wheel or sdist."""
    found = re.match(r"kschedctl-([^-]+?)(?:-py3-none-any\.whl|\.tar\.gz)$", package.name)
    if found is None:
        raise SystemExit(f"{package} is not a wheel or sdist of kschedctl")
    return found[1]


def first_command() -> list[str]:
    """Return the command that README has after the installation, with an absolute path."""
    found = re.search(r"pip install \. && (kschedctl .*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit("README.md has no first command after its installation")
    return [str(ROOT / word) if word.startswith("fixtures/") else word for word in found[1].split()]


def installed(package: Path, extras: str, environment: Path) -> Path:
    """Install a package into a new virtual environment without pip, and return the folder of its commands."""
    venv.create(environment, with_pip=False, clear=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"{package.resolve()}[{extras}]" if extras else str(package.resolve())
    # Bytecode is written when a module is first imported: most of it never is.
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment)]
    subprocess.run([*command, "install", "--quiet", "--no-compile", wanted], check=True)
    return scripts


def answer(scripts: Path, command: list[str], folder: Path) -> str:
    """Run a command of the environment in a folder away from the source tree, and return what it prints."""
    own = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "KSCHEDCTL_SNAPSHOT"}}
    path = f"{scripts}{os.pathsep}{own.get('PATH', '')}"
    done = subprocess.run(
        [str(scripts / command[0]), *command[1:]],
        cwd=folder,
        env=own | {"PATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def try_out(package: Path, extras: str, environment: Path) -> None:
    """Install a package and run its commands; end with an error if one does not print what it should."""
    scripts = installed(package, extras, environment)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("kschedctl", "kubectl-ksched"):
            printed = answer(scripts, [name, "--version"], Path(folder)).strip()
            if printed != f"kschedctl {version_of(package)}":
                raise SystemExit(f"{name} --version prints {printed!r} for {package.name}")
        if not answer(scripts, first_command(), Path(folder)).startswith(ANSWER):
            raise SystemExit(f"{' '.join(first_command())} does not answer {ANSWER!r}")
    print(f"{package.name}{f' with {extras}' if extras else ''}: answers in a clean environment")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tools.try_package", description=__doc__)
    options.add_argument("packages", metavar="FILE", nargs="+", type=Path, help="wheels and sdists")
    options.add_argument("--extras", default="", help="extras to install as well, separated by commas")
    options.add_argument("--into", type=Path, help="keep the environment of the last file in this folder")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for package in arguments.packages:
            try_out(package, arguments.extras, (arguments.into or Path(folder) / "environment").absolute())


if __name__ == "__main__":
    main()
