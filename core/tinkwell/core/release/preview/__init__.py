"""Plans that people read: the document of what an operation would do, how it is made, and how it is applied."""
