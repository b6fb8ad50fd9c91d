"""The layer between ROS and the core: conversions, parameters, transforms, the base class of nodes."""
