"""`python -m warpfold` runs the command."""

import sys

from ._native import command


def main() -> int:
    """Runs the command with the arguments of this process, and returns the status to exit with."""
    sys.stdout.flush()
    return command(["warpfold", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
