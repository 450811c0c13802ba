"""The auditor's book: the specification, and beside each clause its code, proofs, tests and attacks, as pages
that need no server. tools/book/build writes them."""
