"""The provisioner: brings workflows to completion over the API."""
