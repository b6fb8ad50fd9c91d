"""Run `python -m eqa_nodes`, which is the command `eqa`."""

import sys

from eqa_nodes.cli import main

if __name__ == "__main__":
    sys.exit(main())
