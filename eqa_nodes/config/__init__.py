"""The configuration: settings of every node, parameter files, and what may change while a node runs."""
