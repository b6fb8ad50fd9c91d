"""Measures detectors against the labels of simulators: in single views, and along tours."""
