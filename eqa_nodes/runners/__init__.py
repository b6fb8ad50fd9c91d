"""Runs the same episode in process, through the ROS graph, over a history, or with a user's function."""
