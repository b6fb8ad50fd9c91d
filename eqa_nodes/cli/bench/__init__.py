"""The verbs of `eqa bench`, one module each."""
