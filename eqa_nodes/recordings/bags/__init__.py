"""rosbag2 and ROS 1 bags: written, recovered, checked and read without ROS."""
