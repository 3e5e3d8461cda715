"""``kschedctl mcp``."""

import logging
import sys
from typing import Annotated

import typer

from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import unfolded
from kschedctl.cli.options.shared import CompareOption


@unfolded
def mcp(
    *,
    cluster: ClusterOptions,
    compare: CompareOption = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", min=1, max=86400, help="Time limit of an answer.")
    ] = 600.0,
) -> None:
    """Answer the questions of an assistant about a cluster, over the Model Context Protocol (MCP).

    The assistant starts this command and talks to it on standard input and output; docs/agents.md has the settings of
    common ones. Every question is a tool: explain, pending, drain and others. A running cluster is followed by watch
    requests and never written to. kschedctl serve answers the same protocol over HTTP, at /mcp.
    """
    request = cluster.request()
    if "-" in (*request.source.paths, *(compare or ())):
        raise typer.BadParameter("standard input is where the assistant asks: name a file", param_hint="--snapshot")

    from importlib.util import find_spec

    from kschedctl.common.errors import InputError
    from kschedctl.common.extras import install_command

    if find_spec("mcp") is None:
        raise InputError("mcp needs the protocol", hint=f"install it: {install_command('mcp')}")

    import asyncio
    import os
    import signal
    from contextlib import suppress
    from importlib import import_module

    from kschedctl.cli.streams import ExitCode, say
    from kschedctl.web.mcp.calls import tools
    from kschedctl.web.served import LiveSource, Served, UnreadSnapshot
    from kschedctl.web.settings import Limits, ServeSettings

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(name)s: %(message)s")
    if sys.stdin.isatty():
        say("kschedctl: an assistant starts this command and asks on standard input: see docs/agents.md")
    others = tuple(map(request.of_snapshot, compare or ()))
    settings = ServeSettings(compare=others, limits=Limits(workers=1, jobs=0, waiting=20, seconds=time_limit))
    source = UnreadSnapshot(request) if request.source.paths else LiveSource(request)

    async def run() -> None:
        served = Served(source, settings)

        def interrupted() -> None:
            # The thread that reads standard input cannot be ended.
            served.close()
            os._exit(ExitCode.INTERRUPTED)

        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
        async with served.lifespan():
            # The process that answers reads the cluster and imports the questions, while this one imports the protocol.
            listing = asyncio.ensure_future(served.ask(tools))
            server = await asyncio.to_thread(import_module, "kschedctl.web.mcp.server")
            await server.serve_stdio(served, listing)

    asyncio.run(run())
