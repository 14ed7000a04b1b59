"""File services over the network: what a volume is sold with, and what would bind first on it."""
