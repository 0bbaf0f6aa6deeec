"""For authors of resource types: the folder of a new one, and a harness that finds what is wrong with one."""
