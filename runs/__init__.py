"""Django app for experiments and their runs, from the launch form to charts."""
