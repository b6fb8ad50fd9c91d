"""Values as JSON and text that can be stored; file names made of foreign names."""
