"""Caliper: its files and reports, written from profiles."""
