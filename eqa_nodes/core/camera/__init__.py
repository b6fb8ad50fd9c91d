"""Camera frames at the boundary of the core: checked, rectified, monitored for jumps of clock and pose, and masked."""
