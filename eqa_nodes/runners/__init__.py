"""The same episode in process, through the ROS graph, over a history, or by a function of the user's own."""
