"""A stand-in for a vision-language model, for sweeps without one: labels seen through a model's limits. Privileged."""
