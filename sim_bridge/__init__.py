"""Worlds behind one protocol, and the bridge that puts them on ROS topics."""
