"""Kill random processes of esweb, move its clock, and check afterwards that all its data are true."""
