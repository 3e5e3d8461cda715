"""The program of the bundle: ``kubectl ksched`` with its own Python.

``sys.executable`` is this program there, so that it does what parts of kschedctl call Python for: to run a module, and
to run a file.
"""

import multiprocessing
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    multiprocessing.freeze_support()
    words = sys.argv[1:]
    if words[:2] == ["-m", "kschedctl.cli.names"]:
        sys.argv = words[1:]
        runpy.run_module("kschedctl.cli.names", run_name="__main__", alter_sys=True)
    elif words[:2] == ["-I", "-S"]:
        sys.argv = words[2:]
        runpy.run_path(sys.argv[0], run_name="__main__")
    elif Path(sys.argv[0]).stem == "kubectl_complete-ksched":
        from kschedctl.cli.kubectl_completion import run

        run()
    else:
        from kschedctl.cli.start import run

        run()
