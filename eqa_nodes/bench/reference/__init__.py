"""Published results of the field as data, and whether a run is comparable with them."""
