"""Converts detections or labels to object instances with position and size in the map."""
