"""The SQL of secrets: what is known of them without their content, who reads them, and who may."""
