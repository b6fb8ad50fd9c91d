"""The values that travel through the chain, from a camera frame to an answer.

Stamps are integer nanoseconds of the clock in use (simulated or wall). Lengths are metres, angles radians, frames those
of REP 105.
"""
