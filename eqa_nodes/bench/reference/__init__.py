"""Published numbers of the field as data, and whether a run may stand beside them."""
