"""Emissions: how long an instance lasts in each regime, one small class a family."""
