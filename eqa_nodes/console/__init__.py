"""A web console: ask the robot on a page, watch what it does and why, see the proof (docs/console.md)."""
