"""The Python library: `import eqa_nodes as eqa` (docs/library.md)."""
