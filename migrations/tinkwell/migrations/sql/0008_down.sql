DROP FUNCTION must_ring, ring_bell, is_writing, silence_bell;
DROP SEQUENCE bell_wanted;
