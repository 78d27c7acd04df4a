"""Corpora of text that a flow can search: chunks with their provenance, found by vector, by words, or by both."""
