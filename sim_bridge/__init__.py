"""Simulators behind one protocol, and the bridge that publishes them on ROS topics."""
