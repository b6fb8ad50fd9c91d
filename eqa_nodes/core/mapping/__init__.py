"""Camera frames to voxels, an occupancy grid per floor, the explored area and frontiers."""
