"""Help, version and mistakes in arguments pay for nothing that they do not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "numpy",
    "msgspec",
    "yaml",
    "rich.console",
    "cel_expr_python",
    "litestar",
    "uvicorn",
    "kschedctl.web",
    "kschedctl.scheduler",
    "kschedctl.cluster",
    "kschedctl.api",
)
RUN = """
import sys
sys.argv = ["kschedctl", *sys.argv[1:]]
from kschedctl.cli.main import run
try:
    run()
except SystemExit as end:
    code = end.code
print("imported:", *sorted(sys.modules))
sys.exit(code)
"""


def imported(*arguments: str) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    return done.returncode, set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["explain", "--help"], 0),
        (["batch", "--help"], 0),
        (["serve", "--help"], 0),
        (["--version"], 0),
        (["explain", "--nonsense"], 2),
        (["explain", "-o", "nonsense"], 2),
        (["explain", "pod", "--snapshot", "here", "--feature-gates", "nonsense"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_engine_is_not_imported(arguments: list[str], code: int) -> None:
    returned, modules = imported(*arguments)
    assert returned == code
    assert not modules.intersection(HEAVY)


def test_files_need_no_client() -> None:
    snapshot = str(Path(__file__).parents[2] / "fixtures/shop/cluster")
    returned, modules = imported("explain", "shop/web-7", "--snapshot", snapshot)
    assert returned in (0, 1)
    assert not modules.intersection({"kubernetes", "urllib3", "requests", "kschedctl.live.settings"})


def test_lint_without_a_snapshot_needs_no_engine(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    returned, modules = imported("lint", str(tmp_path), "-o", "json")
    assert returned == 0
    assert not modules.intersection(
        {"numpy", "kschedctl.scheduler.scheduler", "kschedctl.face", "kubernetes", "cel_expr_python"}
    )


def test_package_imports_nothing() -> None:
    script = "import sys, kschedctl; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "msgspec", "typer"}.intersection(done.stdout.split())


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    import kschedctl

    assert kschedctl.__version__ == version("kschedctl")
    assert {"load", "Decision"} <= set(dir(kschedctl))
    with pytest.raises(AttributeError, match="nonsense"):
        kschedctl.nonsense  # noqa: B018
