"""Files and reports of Caliper."""
