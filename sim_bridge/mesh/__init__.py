"""Any scan or model as a world: triangles with textures, looked at and driven through on the CPU."""
