"""Scans and models as worlds: textured triangles; rendering and motion run on the CPU."""
