"""Inhabitants of a built-in house: scenes "house:7+3" have three people who sit, stand and walk about."""
