"""Scanned scenes: triangle meshes as a world for a robot."""
