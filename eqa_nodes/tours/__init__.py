"""Histories recorded in a simulator: tours by the benchmarks' recipes, surveys, rendered poses."""
