"""Nav2 over ROS: a commander, which sends its goals, its other services, and the robot's pose."""
