"""The value types of the whole pipeline, from a camera frame to an answer.

Stamps are integer nanoseconds of the clock in use (simulated or wall). Lengths are in metres, angles in radians; frames
follow REP 105.
"""
