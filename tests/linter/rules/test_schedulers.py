"""Scheduler configurations in several versions."""

import pytest

from kschedctl.common.findings import Severity
from tests.linter.linting import lint


def config(version: str) -> str:
    return f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("files", "severities"),
    [
        pytest.param({"config-v1beta1.yaml": "v1beta1"}, [Severity.ERROR], id="alone"),
        pytest.param({"config-v1.yaml": "v1", "config-v1beta1.yaml": "v1beta1"}, [Severity.INFO], id="beside v1"),
        pytest.param({"v1/a.yaml": "v1", "v1beta2/a.yaml": "v1beta2"}, [Severity.INFO], id="folders"),
        pytest.param({"a.yaml": "v1", "b.yaml": "v1beta2"}, [Severity.ERROR], id="a name without the version"),
        pytest.param({"a/v1.yaml": "v1", "b/c/v1beta2.yaml": "v1beta2"}, [Severity.ERROR], id="another folder"),
        pytest.param(
            {"v1beta1.yaml": "v1beta1", "v1beta2.yaml": "v1beta2"},
            [Severity.ERROR, Severity.ERROR],
            id="beside one that is gone, too",
        ),
    ],
)
def test_a_former_version_beside_a_supported_one_is_info(files: dict[str, str], severities: list[Severity]) -> None:
    found = lint({name: config(version) for name, version in files.items()}, "KS601")
    assert [each.severity for each in found] == severities
    for each in found:
        assert each.help.startswith("to leave the file out" if each.severity is Severity.INFO else "use kubescheduler")
