"""Goal driving through an external navigator (Nav2): limits that always hold, and recovery from failures."""
