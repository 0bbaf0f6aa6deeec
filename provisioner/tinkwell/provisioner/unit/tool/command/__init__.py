"""What each tool does, by the names, arguments and answers that charms know."""
