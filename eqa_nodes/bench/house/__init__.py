"""The built-in house as a benchmark: its questions, tasks and roles, generated from the simulator's ground truth."""
