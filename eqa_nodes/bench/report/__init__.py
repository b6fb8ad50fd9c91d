"""Reports of runs: HTML pages, drawings and tables."""
