"""Makes videos and animations from histories."""
