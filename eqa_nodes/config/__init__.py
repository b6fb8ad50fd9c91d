"""The configuration: settings of nodes (nodes.py), the whole graph and its files (graph.py), and runs (run.py)."""
