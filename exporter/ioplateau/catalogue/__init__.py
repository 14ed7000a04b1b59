"""Catalogue: what clouds sell, each number with its source and date. Made by data/build_catalogue.py.

Files only: lines sorted by key, each a key, a tab and a JSON object. limits.tables finds an
entry, the `tables` of its cloud's package reads it.
"""
