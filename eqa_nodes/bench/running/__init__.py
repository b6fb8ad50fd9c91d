"""Pass 1: questions are asked by one worker or by several, and every answer is kept."""
