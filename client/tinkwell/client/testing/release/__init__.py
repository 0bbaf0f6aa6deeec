"""The ReleaseService of the fake server, and what it keeps."""
