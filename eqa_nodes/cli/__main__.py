"""Run `python -m eqa_nodes.cli`."""

import sys

from eqa_nodes.cli import main

sys.exit(main())
