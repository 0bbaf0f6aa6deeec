"""What those are given, and report, who carry operations out."""
