"""Surfaces, and poses, out of colour and depth images. Of the core, this package alone uses Open3D."""
