"""Reconstructions in a browser: the data for the page, the page's own script, and three.js, which draws it."""
