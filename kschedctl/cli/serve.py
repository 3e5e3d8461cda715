"""``kschedctl serve``."""

import logging
from typing import Annotated, ClassVar, Final

import typer

from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import OptionGroup, unfolded
from kschedctl.cli.options.shared import CompareOption

_HOST: Final = "127.0.0.1"
_PORT: Final = 8080


class AccessOptions(OptionGroup):
    """The address, and who may use it."""

    title: ClassVar[str] = "Access"

    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on, such as 0.0.0.0 for all.")
    ] = _HOST
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0 means any free port.")
    ] = _PORT
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="--host and --port in one, such as :8080 for all addresses.",
            show_default=False,
        ),
    ] = ""
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="Further name of the server in the address of a request, such as ksched.example.com.",
        ),
    ] = None
    token_file: Annotated[
        str,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Require the token in this file. Required beyond this machine, unless a proxy names the user.",
            show_default=False,
        ),
    ] = ""
    trusted_proxy_header: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy-header",
            metavar="HEADER",
            help="Accept requests with this header, such as X-Forwarded-User, which a proxy in front sets after it has "
            "checked the user, and removes from what clients send.",
        ),
    ] = None


class LimitOptions(OptionGroup):
    """The limits on requests."""

    title: ClassVar[str] = "Limits"

    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=64,
            help="Processes that answer requests, each with a copy of the cluster. Default: one per core, up to 4.",
            show_default=False,
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option("--jobs", metavar="N", min=1, max=64, help="Processes that run simulations in the background."),
    ] = 1
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="SECONDS", min=1, max=3600, help="Time limit of a request, in seconds."),
    ] = 30.0
    job_time_limit: Annotated[
        float,
        typer.Option(
            "--job-time-limit", metavar="SECONDS", min=1, max=86400, help="Time limit of a simulation, in seconds."
        ),
    ] = 1800.0
    client_time_limit: Annotated[
        float,
        typer.Option(
            "--client-time-limit",
            metavar="SECONDS",
            min=1,
            max=600,
            help="Time in which a client has to send the headers or the body of a request, and to take a response.",
        ),
    ] = 10.0


@unfolded
def serve(
    *, cluster: ClusterOptions, compare: CompareOption = None, access: AccessOptions, limits: LimitOptions
) -> None:
    """Serve pages and a JSON API about a cluster, for a team or for one's own browser.

    A running cluster is followed by watch requests and never written to; a snapshot stays as it is. What-ifs are
    part of the address, so that a link shows them. The API is below /api/v1; /api/v1/openapi.json describes it.

    Only this machine can reach the server, unless --host names another address; clients then need a token, or a proxy
    that names the user. docs/serve.md describes this and the API.

    It exits with code 0 on SIGTERM and Ctrl-C.
    """
    request = cluster.request()

    from dataclasses import replace

    from kschedctl.cli.streams import say, warn
    from kschedctl.common.errors import InputError
    from kschedctl.common.extras import install_command
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.watch.server import address

    host, port = access.host, access.port
    if host.count(":") == 1:
        raise typer.BadParameter("is an address without a port: give the port with --port", param_hint="--host")
    if access.listen and (host, port) != (_HOST, _PORT):
        raise typer.BadParameter("--host or --port is given, too", param_hint="--listen")
    if access.listen:
        host, port = address(access.listen, "--listen")
    try:
        from kschedctl.web.run import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("litestar", "uvicorn", "prometheus_client"):
            raise
        hint = f"install it: {install_command('web')}"
        raise InputError("serve needs the server", hint=hint) from None
    from kschedctl.web.served import LiveSource, SnapshotSource
    from kschedctl.web.settings import Limits, ServeSettings, read_token

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(name)s: %(message)s")
    own = Limits(
        jobs=limits.jobs,
        seconds=limits.time_limit,
        job_seconds=limits.job_time_limit,
        body_seconds=limits.client_time_limit,
    )
    settings = ServeSettings(
        host=host,
        port=port,
        hosts=frozenset(name.lower() for name in access.allowed_host or ()),
        token=read_token(access.token_file, warn) if access.token_file else "",
        proxy_headers=tuple(name.lower() for name in access.trusted_proxy_header or ()),
        compare=tuple(map(request.of_snapshot, compare or ())),
        limits=replace(own, workers=limits.workers) if limits.workers else own,
    )
    # A snapshot that cannot be read is an error now, not in the first comparison.
    for other in settings.compare:
        other.load(AnalysisHandle())
    source = SnapshotSource(request) if request.source.paths else LiveSource(request)
    run(source, settings, lambda text: say(f"kschedctl: {text}"))
