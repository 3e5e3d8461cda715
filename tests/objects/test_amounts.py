from __future__ import annotations

import pytest

from kschedctl.objects.amounts import format_amount, format_nanos
from kschedctl.objects.quantity import parse_quantity


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 250, "0.25"),
        ("cpu", 1, "0.001"),
        ("cpu", 0, "0"),
        ("cpu", -1500, "-1.5"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 5 << 29, "2.5Gi"),
        ("memory", -(1 << 30), "-1Gi"),
        ("ephemeral-storage", 10**9, "953.67Mi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("example.com/gpu", 2048, "2048"),
        ("pods", 110, "110"),
    ],
)
def test_amounts(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("name", "quantity", "text"),
    [
        ("cpu", "47810m", "47.81"),
        ("requests.cpu", "47.81", "47.81"),
        ("limits.memory", "1536Mi", "1.5Gi"),
        ("requests.storage", "10Gi", "10Gi"),
        ("requests.nvidia.com/gpu", "4", "4"),
        ("count/deployments.apps", "12", "12"),
        ("requests.cpu", "1n", "0.001"),
    ],
)
def test_quantities_of_quotas_have_the_same_notation(name: str, quantity: str, text: str) -> None:
    assert format_nanos(name, parse_quantity(quantity)) == text
