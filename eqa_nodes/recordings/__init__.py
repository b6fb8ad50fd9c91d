"""Episodes as rosbag2 bags: written, recovered, read back without ROS; folders of RGB-D images beside them."""
