"""Estimates poses and surfaces from recordings: localisation, meshes, semantic files."""
