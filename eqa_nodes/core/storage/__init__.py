"""Storage of values as JSON, storable text, and safe file names."""
