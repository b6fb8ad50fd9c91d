"""Readers of published question files, one module for each data set. Poses are in the map frame; scenes have ids."""
