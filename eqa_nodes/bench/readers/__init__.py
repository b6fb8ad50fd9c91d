"""Readers of the field's question files, one data set a file. Poses come out in the map frame; scenes by their id."""
