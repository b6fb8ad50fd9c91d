"""Recordings of other programs and data sets, a file for each format."""
