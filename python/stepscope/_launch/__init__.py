"""What ``stepscope run`` is made of: its arguments, the script it runs, and what it records meanwhile."""
