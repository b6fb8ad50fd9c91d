"""Readers of published question files, one module per data set. Poses are in the map frame; scenes have ids."""
