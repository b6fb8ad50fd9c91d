"""habitat_sim behind the simulator protocol, in a process of its own."""
