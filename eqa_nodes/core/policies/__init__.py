"""Exploration policies. Each one decides where to look next, and gives its reason."""
