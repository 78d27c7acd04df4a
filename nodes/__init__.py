"""What the CodeTeam flow does: the only code that knows what a software design sketch is."""
