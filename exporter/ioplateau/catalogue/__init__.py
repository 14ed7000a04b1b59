"""Catalogue: what clouds sell, each number with its source and date. Made by data/build_catalogue.py.

Files only: lines sorted by key, each a key, a tab and a JSON object. judge.tables finds them, judge.catalogue reads them.
"""
