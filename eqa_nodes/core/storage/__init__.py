"""Values as JSON, storable text, and safe file names."""
