"""One package: what its tests share is made once for all of them, and gone after them."""
