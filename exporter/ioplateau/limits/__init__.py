"""Limits: what is sold, told or counted by a provider, and who draws on what. Pure."""
