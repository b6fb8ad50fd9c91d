"""Writes, recovers, checks and reads rosbag2 bags, and reads ROS 1 bags, without ROS."""
