"""The generated parts of the manual, each made of what it tells about. `make reference` writes all of them anew."""
