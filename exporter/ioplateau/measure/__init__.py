"""Measure: kernel text becomes counters, counters become rates. Knows formats, has no opinion."""
