"""Answerers: rules over labels, vision-language models, or priors without views."""
