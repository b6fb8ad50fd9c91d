"""Everything that knows both ROS and the core: conversions, parameters, transforms, the base of a node."""
