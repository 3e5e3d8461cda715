"""The state of processes that tests have started."""

from pathlib import Path


def alive(pid: int) -> bool:
    """Report whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
