"""Clips and pictures made of histories: videos, animations."""
