"""The command that installs an extra of this package."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra from the place that this package was installed from.

    If that is a folder, an archive or a repository, the file ``direct_url.json`` names it (PEP 610). Without the file,
    it is an index.

    Args:
        extra: The name of the extra, such as ``live``.
    """
    # Imported here because only error messages need them.
    import json
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        written = distribution("kschedctl").read_text("direct_url.json")
    except PackageNotFoundError:
        written = None
    if not written:
        return f"pip install {shlex.quote(f'kschedctl[{extra}]')}"
    source = json.loads(written)
    url = source["url"]
    if "dir_info" in source:
        editable = "--editable " if source["dir_info"].get("editable") else ""
        return f"pip install {editable}{shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    repository = source.get("vcs_info")
    place = f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
    return f"pip install {shlex.quote(f'kschedctl[{extra}] @ {place}')}"
