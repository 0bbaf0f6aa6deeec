"""The runtimes that run images: the protocol `port`, its two implementations, and the code that both share."""
