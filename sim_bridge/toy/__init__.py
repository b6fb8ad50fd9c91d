"""A small world drawn with characters: the simulator of fast tests."""
