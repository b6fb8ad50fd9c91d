"""Turns detections or labels into instances with a place and a size in the map."""
