"""A person as an agent: a page on this machine shows the history or lets a person drive (docs/human.md)."""
