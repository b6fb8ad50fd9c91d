"""Judges mark an answer against the truth: 1 (wrong) .. 5 (right). docs/judging.md describes each of them."""
