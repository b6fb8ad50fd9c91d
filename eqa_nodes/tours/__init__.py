"""Histories recorded in a simulator: tours as the benchmarks made them, surveys, rendered poses."""
