"""Surfaces and poses from colour and depth images. Within the core, only this package uses Open3D."""
