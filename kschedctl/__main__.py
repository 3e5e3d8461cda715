"""``python -m kschedctl``: the command, for environments where its script is not on the path."""

from kschedctl.cli.start import run

if __name__ == "__main__":
    run()
