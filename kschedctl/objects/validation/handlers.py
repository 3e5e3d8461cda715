"""Validation of probes and of the lifecycle handlers that run when a container starts or stops."""

from __future__ import annotations

from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.formats import http_header_problems, port_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.values import invalid_findings, not_negative, one_of, port, require

_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_NAMED_SIGNALS: Final = (
    *("ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL"),
    *("PROF", "PWR", "QUIT", "RTMAX", "RTMIN", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN"),
    *("TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ"),
)
_COUNTED_SIGNALS: Final = (*(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in (*_NAMED_SIGNALS, *_COUNTED_SIGNALS)))


def lifecycle(rules: Tree, spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the handlers after start and before stop, and of the stop signal."""
    for name in ("postStart", "preStop"):
        if name in rules:
            yield from _handler(rules[name], _LIFECYCLE_HANDLERS, spec, f"{path}.{name}")
    if "stopSignal" in rules and context.on("ContainerStopSignals"):
        yield from _stop_signal(rules["stopSignal"], spec.get("os"), f"{path}.stopSignal")


def _stop_signal(signal: str, system: Tree | None, path: str) -> Found:
    if system is None:
        yield field_errors.forbidden(path, "may not be set for containers with empty `spec.os.name`")
    elif system.get("name") == "windows":
        yield from one_of(signal, _WINDOWS_SIGNALS, path)
    elif system.get("name") == "linux":
        yield from one_of(signal, _SIGNALS, path)


def probes(container: Tree, spec: Tree, path: str) -> Found:
    """Yield the problems of the probes of a container."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name not in container:
            continue
        probe, at = container[name], f"{path}.{name}"
        yield from _probe(probe, spec, at)
        if name != "readinessProbe":
            threshold = probe.get("successThreshold") or 1
            if threshold != 1:
                yield field_errors.invalid(f"{at}.successThreshold", threshold, "must be 1")
        elif "terminationGracePeriodSeconds" in probe:
            seconds = probe["terminationGracePeriodSeconds"]
            problem = "must not be set for readinessProbes"
            yield field_errors.invalid(f"{at}.terminationGracePeriodSeconds", seconds, problem)


def _probe(probe: Tree, spec: Tree, path: str) -> Found:
    yield from _handler(probe, _PROBE_HANDLERS, spec, path)
    for name in _NUMBERS:
        yield from not_negative(probe.get(name), f"{path}.{name}")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield field_errors.invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")


def _handler(handler: Tree, kinds: tuple[str, ...], spec: Tree, path: str) -> Found:
    found = False
    for kind in kinds:
        if kind not in handler:
            continue
        at = f"{path}.{kind}"
        if found:
            yield field_errors.forbidden(at, "may not specify more than 1 handler type")
            continue
        found = True
        action = handler[kind]
        match kind:
            case "exec":
                yield from require(action.get("command"), f"{at}.command")
            case "httpGet":
                yield from _http_get(action, at)
            case "tcpSocket":
                yield from port(action.get("port", 0), f"{at}.port")
            case "grpc":
                number = action.get("port", 0)
                yield from invalid_findings(port_problems(number), number, f"{at}.port")
            case _:
                yield from _sleep(action.get("seconds", 0), spec, at)
    if not found:
        yield field_errors.required(path, "must specify a handler type")


def _http_get(action: Tree, path: str) -> Found:
    yield from port(action.get("port", 0), f"{path}.port")
    yield from one_of(action.get("scheme") or "HTTP", ("HTTP", "HTTPS"), f"{path}.scheme")
    for header in action.get("httpHeaders", ()):
        name = header.get("name", "")
        yield from invalid_findings(http_header_problems(name), name, f"{path}.httpHeaders")


def _sleep(seconds: int, spec: Tree, path: str) -> Found:
    period = spec.get("terminationGracePeriodSeconds", 30)
    if seconds < 0 or seconds > period:
        problem = f"must be non-negative and less than terminationGracePeriodSeconds ({period})"
        yield field_errors.invalid(path, seconds, problem)
