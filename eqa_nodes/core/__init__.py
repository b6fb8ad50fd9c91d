"""The algorithms, without ROS, simulators or network access (a test enforces it)."""
