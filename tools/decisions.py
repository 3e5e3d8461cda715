"""Compare the decisions of the working tree with those of a commit.

    python -m tools.decisions [REV]

The recorded cases of every release, and every pod and manifest of fixtures/shop, are decided twice: by the package of
the working tree and by that of the commit (HEAD by default), over the same fixtures. Decisions that differ are printed.
"""

import argparse
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.decisions", description="Decisions that a change alters.")
    parser.add_argument("revision", nargs="?", default="HEAD", help="compare with this commit (HEAD)")
    parser.add_argument("--decide", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.decide:
        _decide_all()
    else:
        _compare(args.revision)


def _compare(revision: str) -> None:
    from conformance.comparison import differences

    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "archive", revision, "kschedctl"]
        archive = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as package:
            package.extractall(folder, filter="data")
        outputs = Path(folder) / "before.jsonl", Path(folder) / "after.jsonl"
        running = [_start(package, out) for package, out in zip((Path(folder), ROOT), outputs, strict=True)]
        if sum(process.wait() for process in running):
            sys.exit("one of the two packages could not decide; see above")
        before, after = map(_answers, outputs)
    n_changed = 0
    for case in dict.fromkeys([*before, *after]):
        changed = differences(before.get(case, {}), after.get(case, {}), names=("was", "is"))
        n_changed += bool(changed)
        for part, text in changed.items():
            print(f"{case} {part}: {text}")
    print(f"{n_changed} of {len(after)} decisions differ from {revision}")


def _start(package: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start a process that decides all cases with the package in a folder."""
    # -P keeps the folder of this file off sys.path, so that the package comes from PYTHONPATH.
    command = [sys.executable, "-P", __file__, "--decide"]
    with out.open("wb") as stdout:
        return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(package)}, stdout=stdout)


def _answers(path: Path) -> dict[str, dict[str, Any]]:
    return {found["id"]: found for found in map(json.loads, path.read_text().splitlines())}


def _decide_all() -> None:
    """Print an answer per case and release, with the package on the path."""
    import msgspec

    from kschedctl.common.errors import KschedctlError
    from kschedctl.objects.releases.release import RELEASES
    from kschedctl.questions.batch.cases import Case, answer, decide
    from kschedctl.scheduler.plugins.registry import in_tree_registry

    registry = in_tree_registry()
    for data in _cases():
        case = msgspec.convert(data, Case)
        for version, release in RELEASES.items():
            name = f"{version} {case.id}"
            try:
                said = answer(name, decide(case, release, registry))
            except KschedctlError as error:
                said = {"id": name, "error": str(error)}
            print(json.dumps(said))


def _cases() -> Iterator[dict[str, Any]]:
    for path in sorted((FIXTURES / "conformance" / "cases").glob("*.jsonl.gz")):
        yield from map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    shop = [obj for path in sorted((FIXTURES / "shop" / "cluster").glob("*.yaml")) for obj in _documents(path)]
    for obj in shop:
        if obj["kind"] == "Pod":
            others = [other for other in shop if other is not obj]
            yield {
                "id": f"shop {obj['metadata']['namespace']}/{obj['metadata']['name']}",
                "objects": others,
                "pod": obj,
            }
    for path in sorted((FIXTURES / "shop" / "manifests").glob("*.yaml")):
        yield from ({"id": f"shop {path.name}", "objects": shop, "pod": pod} for pod in _documents(path))


def _documents(path: Path) -> list[dict[str, Any]]:
    import yaml

    return list(yaml.load_all(path.read_text(), yaml.CSafeLoader))


if __name__ == "__main__":
    main()
