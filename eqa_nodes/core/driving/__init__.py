"""Driving by goals where another program (Nav2) plans and moves: limits that always hold, and recovery."""
