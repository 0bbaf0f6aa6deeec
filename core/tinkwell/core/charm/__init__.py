"""What a charm is: its manifest, the package that it travels as, and the configuration of its applications."""
