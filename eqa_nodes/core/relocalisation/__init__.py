"""Where one map lies in another: registration of what was seen in the one with what was seen in the other."""
