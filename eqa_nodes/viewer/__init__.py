"""Reconstructions in a browser: what a page is sent, the page's own script, and three.js, which draws it."""
