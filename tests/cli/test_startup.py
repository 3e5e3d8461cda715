"""Help, version, mistakes in arguments and short questions import nothing that they do not use."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kschedctl.cli.commands import COMMANDS
from tests.paths import ROOT

SHOP = str(ROOT / "fixtures/shop/cluster")
HEAVY = (
    "pydantic",
    "numpy",
    "msgspec",
    "yaml",
    "rich.console",
    "cel_expr_python",
    "litestar",
    "uvicorn",
    "kschedctl.web",
    "kschedctl.scheduler.cycle",
    "kschedctl.cluster",
    "kschedctl.objects.meta",
)
#: The modules of all commands.
COMMAND_MODULES = {f"kschedctl.cli.{name}" for name in COMMANDS}
#: The modules of the standard library for networks, mail and package metadata, which take as long as typer.
SLOW = {"email", "http.client", "importlib.metadata", "urllib.request", "xml"}
#: Modules that no question about a pod of the cluster needs that fits somewhere.
UNUSED = {
    "concurrent.futures",
    "hashlib",
    "importlib.resources",
    "logging",
    "pydantic",
    "jinja2",
    "rich.cells",
    "rich.console",
    "tempfile",
    "yaml",
    "kschedctl.controllers.admission.chain",
    "kschedctl.autoscaler.expansion",
    "kschedctl.scheduler.devices.allocator",
    "kschedctl.scheduler.devices.inventory",
    "kschedctl.scheduler.devices.selectors",
    "kschedctl.diagnosis.rules.obstacles",
    "kschedctl.linter",
    "kschedctl.sources.live",
    "kschedctl.trials.optimum",
    "kschedctl.scheduler.preemption.dry_run_preemption",
    "kschedctl.scheduler.preemption.evaluator",
    "kschedctl.scheduler.cycle.pod_group_cycle",
    "kschedctl.trials.simulate.simulation",
    "kschedctl.questions.sweep",
    "kschedctl.objects.validation.validate",
    "kschedctl.web",
    "kschedctl.diagnosis.why.search",
}
RUN = """
import sys
sys.argv = ["kschedctl", *sys.argv[1:]]
from kschedctl.cli.start import run
try:
    run()
except SystemExit as end:
    code = end.code
print("imported:", *sorted(sys.modules))
sys.exit(code)
"""


def imported(*arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", **(environment or {})},
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


@pytest.mark.parametrize(
    ("arguments", "code", "most"),
    [
        # Each new module takes 0.2 ms of every run, and more if it defines dataclasses.
        pytest.param(["--version"], 0, 16, id="version"),
        pytest.param(["--help"], 0, 25, id="help"),
        pytest.param(["nonsense"], 2, 25, id="no such command"),
        pytest.param(["explain", "--help"], 0, 66, id="help of a command"),
        pytest.param(["explain", "shop/web-7", "--snapshot", SHOP], 0, 415, id="explain"),
    ],
)
def test_number_of_modules_is_limited(arguments: list[str], code: int, most: int) -> None:
    returned, modules = imported(*arguments)
    assert returned == code
    assert len([name for name in modules if name.partition(".")[0] == "kschedctl"]) <= most


def test_version_needs_no_typer() -> None:
    _, modules = imported("--version")
    assert not modules.intersection({"typer", "click", "rich"})


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["explian"]], ids=" ".join)
def test_commands_are_listed_without_being_imported(arguments: list[str]) -> None:
    _, modules = imported(*arguments)
    assert not modules.intersection(COMMAND_MODULES)


def test_help_needs_nothing_slow() -> None:
    _, modules = imported("--help")
    assert not modules.intersection(SLOW)


def test_names_of_commands_are_completed_without_importing_them() -> None:
    asked = {"_KSCHEDCTL_COMPLETE": "complete_bash", "COMP_WORDS": "kschedctl ex", "COMP_CWORD": "1"}
    _, modules = imported(environment=asked)
    assert "kschedctl.cli.commands" in modules
    assert not modules.intersection(COMMAND_MODULES)


def test_only_the_command_that_is_run_is_imported() -> None:
    _, modules = imported("explain", "--help")
    assert modules.intersection(COMMAND_MODULES) == {"kschedctl.cli.explain"}


def test_pod_that_fits_needs_the_decision_alone() -> None:
    returned, modules = imported("explain", "shop/web-7", "--snapshot", SHOP)
    assert returned == 0
    assert not modules.intersection(UNUSED)


def test_pod_that_does_not_fit_needs_no_masked_arrays_and_no_libyaml() -> None:
    # NumPy imports them for its functions on sets, such as unique.
    returned, modules = imported("explain", "shop/search-3", "--snapshot", SHOP)
    assert returned == 1
    assert not modules.intersection({"numpy.ma", "pydantic", "jinja2", "hashlib", "logging", "rich.cells", "yaml"})


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the threads")
def test_no_threads_wait_for_matrix_multiplications() -> None:
    run = RUN.replace(
        "*sorted(sys.modules)", "len(__import__('os').listdir('/proc/self/task')), 'numpy' in sys.modules"
    )
    asked = ["explain", "shop/web-7", "--snapshot", SHOP]
    done = subprocess.run(
        [sys.executable, "-c", run, *asked], capture_output=True, text=True, check=True, env={"PATH": ""}
    )
    assert done.stdout.splitlines()[-1] == "imported: 1 True"


def test_files_need_no_client() -> None:
    returned, modules = imported("explain", "shop/web-7", "--snapshot", SHOP)
    assert returned in (0, 1)
    assert not modules.intersection({"kubernetes", "urllib3", "requests", "kschedctl.sources.live.settings"})


def test_lint_without_a_snapshot_needs_no_engine(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    returned, modules = imported("lint", str(tmp_path), "-o", "json")
    assert returned == 0
    assert not modules.intersection(
        {
            "numpy",
            "kschedctl.scheduler.cycle.scheduler",
            "kschedctl.questions.scheduling_cluster",
            "kubernetes",
            "cel_expr_python",
        }
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
