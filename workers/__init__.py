"""Everything that runs away from the web server: plain Python, no Django below this line."""
