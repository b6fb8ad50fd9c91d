"""Episodes as rosbag2 bags, written, recovered and read without ROS, and folders of RGB-D images."""
