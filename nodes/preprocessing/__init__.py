"""Rule-based preprocessing of a requirements document (CodeTeam, 3.2.1): Markdown or reStructuredText in, one document
with stable section markers out, and a list of what was dropped and why.

Read `document.py` first: it is the whole pipeline, step by step.
"""
