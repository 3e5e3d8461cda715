"""``--tolerate``: as it is written, and what it makes of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import Tolerate
from tests.trials.whatif.pods import edited_spec

READ = {
    "gpu": Tolerate("gpu"),
    "gpu=true": Tolerate("gpu", "true"),
    "gpu=": Tolerate("gpu", ""),
    "gpu:NoExecute": Tolerate("gpu", None, "NoExecute"),
    "a.example/gpu=true:NoSchedule": Tolerate("a.example/gpu", "true", "NoSchedule"),
    "gpu-": Tolerate("gpu", remove=True),
    "gpu:NoSchedule-": Tolerate("gpu", None, "NoSchedule", remove=True),
}
WRONG = {
    "": "is not a toleration",
    "-": "is not a toleration",
    ":NoSchedule": "is not a toleration",
    "gpu=true-": "KEY- removes the tolerations of KEY",
    "gpu:": '"" is not a taint effect',
    "gpu:Sometimes": "the effects are NoSchedule, PreferNoSchedule, NoExecute",
    "gpu=a b": '"a b" is not valid here',
}

GPU = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
ANY = {"operator": "Exists"}
MADE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "without a value any is tolerated": ("gpu:NoSchedule", {}, {"tolerations": [GPU]}),
    "with one that one": (
        "gpu=true",
        {"tolerations": [GPU]},
        {"tolerations": [GPU, {"key": "gpu", "operator": "Equal", "value": "true"}]},
    ),
    "what is there is not added again": ("gpu:NoSchedule", {"tolerations": [GPU]}, {"tolerations": [GPU]}),
    "all of a key go, those of all keys stay": ("gpu-", {"tolerations": [GPU, ANY]}, {"tolerations": [ANY]}),
    "those of an effect go": (
        "gpu:NoSchedule-",
        {"tolerations": [GPU, {**GPU, "effect": "NoExecute"}]},
        {"tolerations": [{**GPU, "effect": "NoExecute"}]},
    ),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert Tolerate.parse(text) == READ[text]
    assert str(Tolerate.parse(text)) == f"tolerate {text}"


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Tolerate.parse(text)
    assert str(caught.value).startswith("--tolerate: ")
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize("case", MADE)
def test_what_a_pod_is_afterwards(case: str) -> None:
    text, before, after = MADE[case]
    found = edited_spec(before, Tolerate.parse(text))
    assert {key: found.get(key) for key in after} == after
