"""Scans and models as worlds: textured triangles, rendered and driven through on the CPU."""
