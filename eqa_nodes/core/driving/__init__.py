"""Driving by goals, where something else (Nav2) plans and moves: limits that hold whatever is asked, and recovery."""
