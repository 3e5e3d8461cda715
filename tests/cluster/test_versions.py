"""Version numbers are never given twice, also not by processes that exchange clusters."""

import os
import subprocess
import sys

from kschedctl.cluster.versions import next_version

_NUMBER = "from kschedctl.cluster.versions import next_version; print(next_version())"


def test_processes_have_numbers_of_their_own() -> None:
    mine = {next_version() for _ in range(1_000)}
    theirs = [int(subprocess.check_output([sys.executable, "-c", _NUMBER])) for _ in range(2)]
    assert len({*mine, *theirs}) == 1_002
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writing, str(next_version()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) not in {*mine, *theirs, next_version()}
