"""The algorithm: no ROS, no simulator, no network (a test enforces it)."""
