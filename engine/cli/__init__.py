"""The command `flowrun`: click commands, one file per subject."""
