"""Speed and memory, measured with a baseline in the same run: `make bench`."""
