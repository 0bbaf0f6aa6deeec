"""The ReleaseService of the fake server, and the data that it keeps."""
