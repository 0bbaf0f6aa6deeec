"""What is seen of a unit's tasks where its next event is decided on: a part of one statement."""

# The oldest that waits, and the one that runs.
TASKS = """
    (SELECT CAST(p.id AS text) FROM task p WHERE p.unit_id = u.id AND p.state = 'PENDING'
      ORDER BY p.number LIMIT 1) AS waiting_task,
    (SELECT CAST(p.id AS text) FROM task p WHERE p.unit_id = u.id AND p.state = 'RUNNING') AS running_task
"""
