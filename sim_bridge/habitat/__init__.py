"""habitat_sim as a Simulator, in a process of its own."""
