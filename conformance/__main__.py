"""The conformance command: python -m conformance --help."""

import sys

from conformance.cli import main
from kschedctl.common.errors import KschedctlError

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KschedctlError as error:
        print(f"conformance: {error}", file=sys.stderr)
        sys.exit(2)
