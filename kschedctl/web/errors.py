"""The errors of the server that are no errors of an analysis."""

from collections.abc import Iterator
from contextlib import contextmanager

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.sources.snapshot.files import STDIN_NAME


def lines_of(error: KschedctlError) -> tuple[str, ...]:
    """Return the lines of an error; what is read as standard input is the manifest of a request."""
    return tuple(line.replace(STDIN_NAME, "the manifest") for line in error.lines())


class NotFoundError(InputError):
    """The error for an address that names an object, or a job, that does not exist."""


@contextmanager
def not_found() -> Iterator[None]:
    """Turn the error of a search for an object into `NotFoundError`."""
    try:
        yield
    except InputError as error:
        raise NotFoundError.together(error.findings) from None


class BusyError(KschedctlError):
    """The error for a request beyond the limits on waiting requests and jobs."""

    def __init__(self, problem: str = "too many requests are waiting") -> None:
        super().__init__(problem, hint="try again in a second")


class TookTooLongError(KschedctlError):
    """The error for a request or a job that exceeds its time."""

    def __init__(self, seconds: float, *, is_job: bool = False) -> None:
        more = "start the server with a larger --job-time-limit" if is_job else "use a job: they have more time"
        super().__init__(f"there is no answer within {seconds:g} s", hint=f"ask for less, or {more}")


class BrokenWorkerError(KschedctlError):
    """The error for a request whose worker process failed or was killed."""

    def __init__(self, problem: str = "this is a bug in kschedctl: the log of the server has its traceback") -> None:
        super().__init__(problem)
