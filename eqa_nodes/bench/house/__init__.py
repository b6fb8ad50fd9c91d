"""The built-in house as a benchmark: its questions, tasks and roles, made from the truth of the simulator."""
