"""Exploration policies. Each decides where to look next and gives the reason."""
