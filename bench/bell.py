"""How the bell is taken out of Tinkwell's schema, to put something else in its place."""

# What is left is what an event needs that must survive a crash.
WITHOUT = """
    CREATE OR REPLACE FUNCTION is_bell_wanted() RETURNS boolean LANGUAGE sql
    AS $$ SELECT false $$
"""
