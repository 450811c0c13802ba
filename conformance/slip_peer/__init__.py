"""A second implementation of the SLIP protocol, written from spec/, and the programs that test
others against it. Python 3.11, standard library only."""
