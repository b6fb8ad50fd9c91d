"""The graph as data, messages, transforms and frames: what nodes and bags share, without rclpy."""
