"""Tests of esweb on real clusters, which are started on this one machine for the tests that need them."""
