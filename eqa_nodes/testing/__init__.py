"""Stand-ins for tests, benchmarks and drills: a model server, Nav2, and waiting for conditions. None imports pytest."""
