"""Tuning: rules for the MPI library, chosen, written, verified and measured again."""
