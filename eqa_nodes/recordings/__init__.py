"""Writes, recovers and reads episodes as rosbag2 bags without ROS, and reads folders of RGB-D images."""
