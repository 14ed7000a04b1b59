"""Clouds: which documents one wants, and what their bytes say of identity and limits."""
