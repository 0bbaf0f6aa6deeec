"""Several server processes behind one port: a supervisor that keeps them running, and the workers."""
