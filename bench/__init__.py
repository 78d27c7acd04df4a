"""How fast and how large: each figure is a ratio, or is measured beside what it is compared with, in one run."""
