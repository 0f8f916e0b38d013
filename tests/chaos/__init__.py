"""Kills whatever esweb runs, at random, moves its clock, and looks whether all that it says afterwards is true."""
