"""Ask a robot about the place it is in: embodied question answering on ROS 2."""

__version__ = "0.1.0"
