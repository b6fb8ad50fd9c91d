"""Components by name."""
