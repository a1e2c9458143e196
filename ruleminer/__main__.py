"""Where the program starts: Ctrl-C is heard while Python still reads the rest of it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from ruleminer.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
