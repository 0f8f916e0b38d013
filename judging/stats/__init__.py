"""From votes to ratings, intervals and agreement between judges. Nothing here imports Django."""
