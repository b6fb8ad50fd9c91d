"""Surfaces and poses out of recordings that have none: localisation, meshes, semantic files."""
