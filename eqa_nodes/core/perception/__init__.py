"""From detections or labels to instances with a place and a size in the map."""
