"""Pass 1: one or several workers ask the questions, and every answer is stored."""
