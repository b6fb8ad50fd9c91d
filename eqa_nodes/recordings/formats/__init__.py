"""Readers for recordings of other programs and data sets, one file for each format."""
