"""Mutated inputs of every kind end in an answer or in a sentence, within bounds of memory and time.

``make fuzz`` runs the same for as long as one likes (``FUZZ_SECONDS``), with other seeds each time (``FUZZ_SEED``).
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.worker import FILE, TARGETS
from tests.paths import ROOT

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
SEED = os.environ.get("FUZZ_SEED", "1")
NUMBERS = (
    [10**9]
    if "FUZZ_SECONDS" in os.environ
    else [pytest.param(150, marks=pytest.mark.sample), pytest.param(1000, marks=pytest.mark.slow)]
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_is_given_is_answered(target: str, number: int, tmp_path: Path) -> None:
    seed = random.randrange(10**6) if SEED == "random" else int(SEED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.fuzz.worker", target, str(seed), str(number), str(SECONDS)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS + 120)
    assert done.returncode == 0, f"{tmp_path / FILE}:\n{done.stderr[-5000:]}"
    assert int(done.stdout) > 0
