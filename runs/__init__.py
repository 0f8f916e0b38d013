"""An experiment, from form to chart."""
