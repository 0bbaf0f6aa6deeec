"""Commands that deploy, configure, relate, scale, refresh and remove applications."""
