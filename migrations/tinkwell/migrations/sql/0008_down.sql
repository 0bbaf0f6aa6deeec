-- The columns stay as they are: they serve an earlier release as well.
DROP FUNCTION must_ring, ring_bell, is_writing, silence_bell, refuse_size;
DROP SEQUENCE bell_wanted;
