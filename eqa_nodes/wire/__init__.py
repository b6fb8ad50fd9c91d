"""The common part of nodes and bags, without rclpy: the graph as data, messages, transforms and frames."""
